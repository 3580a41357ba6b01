#!/bin/sh
set -e
tag=vllm-node prebuilt=eugr/spark-vllm:latest mxfp4=
while [ $# -gt 0 ]; do
    case $1 in
        -t) tag=$2 && shift ;;
        --exp-mxfp4) mxfp4=1 ;;
        --exp-b12x) prebuilt=eugr/spark-vllm-b12x:latest ;;
    esac
    shift
done
if [ -z "$mxfp4" ]; then
    echo "Using prebuilt runner image $prebuilt..."
    docker pull "$prebuilt"
    exec docker tag "$prebuilt" "$tag"
fi
echo "Building image with command: docker build -t $tag -f Dockerfile.mxfp4 ."
exec docker build -t "$tag" --build-arg BUILD_JOBS=16 --build-arg TORCH_CUDA_ARCH_LIST=12.1a -f Dockerfile.mxfp4 .
