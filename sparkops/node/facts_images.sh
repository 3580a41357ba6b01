#!/bin/sh
# What is in an image: asked of its own Python, once for each image ID, in a container that is removed at its end. The
# answer is kept as `images/ID.software` in our own folder, the one thing that reading facts writes. Beside it lies
# `ID.graphs-hung` where the entry script saw CUDA graphs hang.
# shellcheck disable=SC2154  # what facts.sh sets

. ./own.sh

# Imports neither torch nor vllm, and ends itself: a client that is killed leaves its container running.
versions='
import ctypes, os, signal
from importlib import metadata

signal.signal(signal.SIGALRM, lambda *_: os._exit(124))
signal.alarm(8)

def installed(*names):
    for name in names:
        try:
            return metadata.version(name) or ""
        except metadata.PackageNotFoundError:
            pass
    return ""

def loaded(path):
    number = ctypes.c_int()
    try:
        ctypes.CDLL(path).ncclGetVersion(ctypes.byref(number))
    except (OSError, AttributeError):
        return ""
    return f"{number.value // 10000}.{number.value % 10000 // 100}.{number.value % 100}"

chosen = os.environ.get("VLLM_NCCL_SO_PATH")
wheels = [f"nvidia-nccl-cu{major}" for major in (13, 12, 11)]
found = {
    "vllm": installed("vllm"),
    "nccl": loaded(chosen) if chosen else installed(*wheels) or loaded("libnccl.so.2"),
    "flashinfer": installed("flashinfer-python", "flashinfer"),
    "ray": installed("ray"),
    "torch": installed("torch"),
}
print("", *(f"{name}={version}" for name, version in found.items()), sep="\n", flush=True)
'

# parts `software REF` and `graphs-hung REF` of the image whose inspection is in $body
about_image() {
    id=${body#*'"Id": "sha256:'}
    id=${id%%'"'*}
    case $id in '' | *[!0-9a-f]*) return ;; esac
    kept=$HOME/.local/state/sparkops/images/$id
    slurp "$kept.software" || body=''
    if ! versions_alone; then
        privileged docker run --rm --network none --entrypoint '' "$id" sh -c "$(by_its_python)" flags "$versions"
        versions_alone && keep_versions
    fi
    ! versions_alone || text=$text$(part "software $1" 0 "$body")$nl
    [ ! -e "$kept.graphs-hung" ] || text=$text$(part "graphs-hung $1" 0 yes)$nl
}

# only what stands there as it should, and whether that is all of it
versions_alone() {
    body=$(printf '%s\n' "$body" | grep -xE '(vllm|nccl|flashinfer|ray|torch)=([0-9][0-9A-Za-z.+!_-]{0,79})?')
    case $body in vllm=*"${nl}nccl="*"${nl}flashinfer="*"${nl}ray="*"${nl}torch="*) ;; *) return 1 ;; esac
}

# shellcheck disable=SC2030  # another `ours` than that of docker_probes
keep_versions() (
    ours=${kept%/images/*} folder=${kept%/*} new=$kept.software.$$
    {
        record "folder $folder" && mkdir -p "$folder" && printf '%s\n' "$body" >"$new" && mv -f "$new" "$kept.software"
        rm -f "$new"
        own "${ours%/state/*}" "${ours%/*}" "$ours" "$ours/manifest" "$folder" "$kept.software"
    } 2>/dev/null
)

. ./record.sh

by_its_python() {
    cat <<'FLAGS'
. ./flags.sh
FLAGS
}
