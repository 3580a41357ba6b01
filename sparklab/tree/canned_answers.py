"""What a node's programs will say, written down beforehand: a fleet of hundreds cannot start a Python for each question.

The answers come from the programs themselves (`tools/`, `docker/`), so they cannot differ. They are thrown away by
whatever changes what they tell of; then the lab's process is asked (`daemon/answers.py`), or the program itself. `bin`
holds the stubs that read them.
"""

import contextlib
import os

from sparklab import files
from sparklab.layout import Node
from sparklab.tools.answer import Answer, answer
from sparklab.tree.images import IMAGES

FOLDER = "answers"
LONGEST = 250
CALM = "calm"
"""There while no fault is on that a ping shows: it answers without a Python of its own."""
PINGS_SHOW = {"cx7-down", "no-cable", "pings-lost", "big-pings-lost"}

QUESTIONS: dict[str, tuple[str, ...]] = {
    "uname": ("-a", "-r", "-m"),
    "lscpu": ("",),
    "nproc": ("",),
    "hostname": ("",),
    "id": ("", "-u", "-un"),
    "ip": ("-j addr", "-j route show default"),
    "ibdev2netdev": ("",),
    "nmcli": ("-t -f NAME,TYPE,AUTOCONNECT,DEVICE connection show",),
    "systemctl": ("is-active earlyoom",),
    "dpkg": (
        "-l nvidia-driver-580-open nvidia-driver-*-open nvidia-container-toolkit earlyoom docker-ce docker.io "
        "containerd.io dgx-spark-mlnx-hotplug nvidia-spark-grub-kho linux-image-[0-9]*-nvidia* linux-modules-*nvidia* "
        "linux-headers-[0-9]*-nvidia* nvidia-dkms-* nvidia-kernel-* libnvidia-compute-*",
    ),
    "nvidia-smi": (
        "--query-gpu=name,compute_cap,driver_version --format=csv,noheader",
        "--query-gpu=clocks.sm,power.draw,utilization.gpu,temperature.gpu,pstate,clocks_event_reasons.active "
        "--format=csv,noheader,nounits",
        "--query-compute-apps=pid,process_name,used_memory --format=csv,noheader",
    ),
    "docker": (
        "version --format {{json .}}",
        "info --format {{json .}}",
        "ps -a --no-trunc --format {{json .}}",
        *(f"image inspect {reference}" for reference in (*IMAGES, *(name.removesuffix(":latest") for name in IMAGES))),
    ),
}

OF_CONTAINERS = ("docker info", "docker ps", "nvidia-smi --query-gpu=clocks", "nvidia-smi --query-compute-apps")
"""How the answers begin that change with every container, and so are kept only while there is none."""
OF_IMAGES = ("docker info", "docker image")


def forget(node: Node, *beginnings: str) -> None:
    """What begins so has changed."""
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(node.path(FOLDER)):
            if name.startswith(beginnings):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(node.path(FOLDER, name))


def publish(node: Node) -> None:
    """Ask every program and write down what it says; not what depends on containers, or would not come back."""
    files.clear(node.path(FOLDER))
    os.makedirs(node.path(FOLDER))
    for program, questions in QUESTIONS.items():
        for words in questions:
            if _lasts(node, f"{program} {words}"):
                _write(node, program, words, answer(node, program, _split(words)))
    if not any(map(node.fault, PINGS_SHOW)):
        files.write(node.path(FOLDER, CALM), "")
    if not _idle(node):  # one was made meanwhile
        forget(node, *OF_CONTAINERS)


def _lasts(node: Node, question: str) -> bool:
    if question.startswith("nvidia-smi") and node.fault("gpu-hangs"):
        return False
    return not question.startswith(OF_CONTAINERS) or _idle(node)


def _idle(node: Node) -> bool:
    return not os.listdir(node.path("docker", "containers"))


def _write(node: Node, program: str, words: str, told: Answer) -> None:
    path = node.path(FOLDER, key(program, words))
    if complaint := told.on(2):
        _plain(f"{path}.err", complaint)
    if told.code or complaint:
        _plain(f"{path}.code", f"{told.code}\n")
    _plain(path, told.on(1))


def key(program: str, words: str) -> str:
    """The file's name: the words as the shell joins them, without slashes, and cut since it has room for 255 bytes."""
    return f"{program} {words}".rstrip().replace("/", "%")[:LONGEST]


def _split(words: str) -> list[str]:
    """No word of QUESTIONS has a blank in it but Docker's template."""
    return [word.replace("\0", " ") for word in words.replace("{{json .}}", "{{json\0.}}").split()]


def _plain(path: str, text: str) -> None:
    """Who reads finds nothing or all of it."""
    new = os.path.join(os.path.dirname(path), f".{os.getpid()}")
    with open(new, "w", encoding="utf-8") as stream:
        stream.write(text)
    os.replace(new, path)


STUB = r"""#!SHELL
[ -z "${SPARKLAB_SUDO-}" ] && [ -d "$SPARKLAB_NODE/answers" ] && {
    words="NAME${*:+ $*}"
    [ ${#words} -le LONGEST ] || words=$(printf %.LONGESTs "$words")
    while :; do
        case $words in
        */*) words=${words%%/*}%${words#*/} ;;
        *) break ;;
        esac
    done
    said=$SPARKLAB_NODE/answers/$words
    if [ -f "$said.code" ] && { read -r code <"$said.code"; } 2>/dev/null; then
        [ ! -f "$said.err" ] || cat "$said.err" >&2
        cat "$said"
        exit "$code"
    elif [ -f "$said" ] && { command exec 4<"$said"; } 2>/dev/null; then # else it was forgotten just now
        exec cat <&4 4<&-
    fi
}
exec PROGRAM "$@"
""".replace("LONGEST", str(LONGEST))
ASKS = r"""
ask() { # where no answer comes the program says it
    [ -z "${SPARKLAB_SUDO-}" ] && [ -n "${SPARKLAB_ANSWERS-}" ] || return
    { exec 3<>"/dev/tcp/${SPARKLAB_ANSWERS%/*}"; } 2>/dev/null || return
    printf '%s\0' "${SPARKLAB_ANSWERS##*/}" "${SPARKLAB_NODE##*/}" $(($# + 1)) NAME "$@" >&3
    while read -r what size 2>/dev/null <&3; do
        case $what in
        1) told=yes && head -c "$size" <&3 || exit ;;
        2) told=yes && head -c "$size" <&3 >&2 || exit ;;
        end) exit "$size" ;;
        esac
    done
    [ -z "${told-}" ] || exit 1 # half an answer is not said twice
    exec 3>&-
}
ask "$@"
"""
"""The protocol of `daemon/answers.py`."""
HASHES = r"""#!/bin/sh
# what is piped has its true hash
[ $# -gt 0 ] || exec SHA256SUM
exec PROGRAM "$@"
"""
CRONTAB = r"""#!/bin/sh
[ "$*" = -l ] && [ -f "$SPARKLAB_NODE/crontab" ] && exec cat "$SPARKLAB_NODE/crontab"
[ "$*" = -l ] && echo "no crontab for USER" >&2 && exit 1
exec PROGRAM "$@"
"""
DF = r"""#!/bin/sh
# the question of the facts: -P -k and paths that exist
fast=$([ "$1 $2" = "-P -k" ] && [ ! -e "$SPARKLAB_NODE/faults/disk-low" ] &&
    [ ! -e "$SPARKLAB_NODE/faults/disk-full" ] && shift 2 && for path; do [ -e "$path" ] || exit; done && echo yes)
[ -n "$fast" ] || exec PROGRAM "$@"
shift 2
echo 'HEAD'
for path; do echo 'ROW'; done
"""
TAR = r"""#!/bin/sh
# the machine's own, as far as the node's disk is not full
case "$1 $2 $3" in *-x*) ;; *) exec TAR "$@" ;; esac
exec 3<&0
TAR "$@" <&3 &
while kill -0 "$!" 2>/dev/null; do
    [ ! -e "$SPARKLAB_NODE/faults/disk-full" ] || {
        kill "$!" && echo 'tar: write error: No space left on device' >&2
        exit 2
    }
    sleep 0.02
done
wait "$!"
"""
SUDO = r"""#!/bin/sh
[ "$*" = "-n true" ] && [ ! -e "$SPARKLAB_NODE/faults/sudo-password" ] && exit 0
exec PROGRAM "$@"
"""
DATE = r"""#!/bin/sh
[ -e "$SPARKLAB_NODE/faults/clock-skew" ] && exec DATE -d '+600 seconds' "$@"
exec DATE "$@"
"""
SOCKETS = r"""#!/bin/sh
# the question of the facts by awk, as the kernel's table has thousands of rows where hundreds of nodes are
[ "$*" = -ltnpH ] || exec PROGRAM "$@"
read -r mine <"$SPARKLAB_NODE/sockets"
exec awk -v mine="$mine" '
    BEGIN { for (i = 0; i < 16; i++) digit[substr("0123456789ABCDEF", i + 1, 1)] = i }
    function number(text, i, n) { for (i = 1; i <= length(text); i++) n = n * 16 + digit[substr(text, i, 1)]; return n }
    $4 == "0A" && index(mine, substr($2, 1, 8)) {
        a = $2
        printf "LISTEN 0      128    %d.%d.%d.%d:%d      0.0.0.0:*\n", number(substr(a, 7, 2)), number(substr(a, 5, 2)),
            number(substr(a, 3, 2)), number(substr(a, 1, 2)), number(substr(a, 10, 4))
    }' /proc/net/tcp
"""
PING = r"""#!/bin/sh
# while neither end has a fault that a ping shows, it is answered here; else the program looks closer
calm() { [ -e "$SPARKLAB_NODE/answers/calm" ] && [ -e "$SPARKLAB_NODE/../../at/$1/answers/calm" ]; }
for target; do :; done
if calm "$target"; then
    count=1 size=56
    while [ $# -gt 1 ]; do
        case $1 in
        -c) count=$2 ;;
        -s) size=$2 ;;
        esac
        shift
    done
    echo "PING $target ($target) $size($((size + 28))) bytes of data."
    number=0
    while [ $((number += 1)) -le "$count" ]; do
        echo "$((size + 8)) bytes from $target: icmp_seq=$number ttl=64 time=0.4$((number % 10)) ms"
    done
    echo
    echo "--- $target ping statistics ---"
    echo "$count packets transmitted, $count received, 0% packet loss, time 0ms"
    exit 0
fi
exec PROGRAM "$@"
"""
