#!/bin/sh
set -e
tag=vllm-node file=Dockerfile
while [ $# -gt 0 ]; do
    case $1 in
        -t) tag=$2 && shift ;;
        --exp-mxfp4) file=Dockerfile.mxfp4 ;;
    esac
    shift
done
echo "Building image with command: docker build -t $tag -f $file ."
exec docker build -t "$tag" --build-arg BUILD_JOBS=16 --build-arg TORCH_CUDA_ARCH_LIST=12.1a -f "$file" .
