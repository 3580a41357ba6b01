"""What a node's programs will say, written down beforehand: a fleet of hundreds cannot start a Python for each question.

The answers come from the programs themselves, so they cannot differ. They are deleted by whatever changes what they are
about; then the stub in `bin` (`tools/stubs/canned.sh`) asks the lab's process (`daemon/answers.py`), or starts the program.
"""

import contextlib
import os
import shlex

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
    **dict.fromkeys(("lscpu", "nproc", "hostname", "ibdev2netdev"), ("",)),
    "id": ("", "-u", "-un"),
    "ip": ("-j addr", "-j route show default"),
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
    """Delete the answers to questions that begin so."""
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
            question = f"{program} {words}".rstrip()
            hangs = program == "nvidia-smi" and node.fault("gpu-hangs")
            if not hangs and (_idle(node) or not question.startswith(OF_CONTAINERS)):
                _write(node, question, answer(node, program, shlex.split(words.replace("{{json .}}", "'{{json .}}'"))))
    if not any(map(node.fault, PINGS_SHOW)):
        files.write(node.path(FOLDER, CALM), "")
    if not _idle(node):  # one was made meanwhile
        forget(node, *OF_CONTAINERS)


def _idle(node: Node) -> bool:
    return not os.listdir(node.path("docker", "containers"))


def _write(node: Node, question: str, told: Answer) -> None:
    """The file is named by the words as the shell joins them, without slashes, and cut since a name has 255 bytes."""
    name = question.replace("/", "%")[:LONGEST]
    if complaint := told.on(2):
        _put(node, f"{name}.err", complaint)
    if told.code or complaint:
        _put(node, f"{name}.code", f"{told.code}\n")
    _put(node, name, told.on(1))


def _put(node: Node, name: str, text: str) -> None:
    """Readers find nothing or all of it; the new file has a short name that `forget` does not meet."""
    new = node.path(FOLDER, f".{os.getpid()}")
    with open(new, "w", encoding="utf-8") as stream:
        stream.write(text)
    os.replace(new, node.path(FOLDER, name))
