"""dpkg, dpkg-query and nvidia-ctk: the packages that matter on DGX OS."""

import fnmatch

from sparklab.layout import Node, here
from sparklab.tools.say import fail, out
from sparklab.tree import ailments
from sparklab.tree.etc import DRIVER, KERNEL

PACKAGES = {
    "nvidia-container-toolkit": ("1.19.0-1", "NVIDIA Container toolkit"),
    "nvidia-container-toolkit-base": ("1.19.0-1", "NVIDIA Container Toolkit Base"),
    "libnvidia-container1": ("1.19.0-1", "NVIDIA container runtime library"),
    "nvidia-driver-580-open": (f"{DRIVER}-0ubuntu0.24.04.1", "NVIDIA driver (open kernel) metapackage"),
    f"linux-image-{KERNEL}": ("6.17.0-1014.14", "Signed kernel image nvidia"),
    "containerd.io": ("2.2.1-1~ubuntu.24.04~noble", "An open and reliable container runtime"),
    "docker-ce": ("5:29.2.1-1~ubuntu.24.04~noble", "Docker: the open-source application container engine"),
    "earlyoom": ("1.7-2", "Early OOM Daemon"),
    "dgx-spark-mlnx-hotplug": ("1.4", "CX7 hot-plug for DGX Spark"),
}


def main(name: str, words: list[str]) -> int:
    if name == "nvidia-ctk":
        out("NVIDIA Container Toolkit CLI version 1.19.0\ncommit: 1f7d1c3a")
        return 0
    if "--print-architecture" in words:
        out("arm64")
        return 0
    wanted = [word for word in words if not word.startswith("-")]
    shows_form = [word for word in words if word.startswith(("-f=", "--showformat="))]
    wanted = [word for word in wanted if not word.startswith("$")]
    form = shows_form[0].partition("=")[2] if shows_form else words[words.index("-f") + 1] if "-f" in words else ""
    code, packages = 0, installed(here())
    for pattern in wanted or ["*"]:
        matching = {name: one for name, one in packages.items() if fnmatch.fnmatchcase(name, pattern)}
        if not matching:
            code = fail(f"dpkg-query: no packages found matching {pattern}")
        for package, (version, title) in matching.items():
            _row(package, version, title, form, "-s" in words)
    return code


def installed(node: Node) -> dict[str, tuple[str, str]]:
    """Name -> version and title, as the node's faults have it."""
    found = dict(PACKAGES)
    loaded = ailments.driver(node)
    newer = "580.178.04" if node.fault("driver-updated") else loaded
    branch = f"nvidia-driver-{newer.partition('.')[0]}-open"
    title = found.pop("nvidia-driver-580-open")[1]
    found[branch] = (f"{newer}-0ubuntu0.24.04.1", title)
    if node.fault("no-toolkit"):
        found = {name: one for name, one in found.items() if not name.startswith(("nvidia-container", "libnvidia-"))}
    return found


def _row(package: str, version: str, title: str, form: str, status: bool) -> None:
    state = "iF " if here().fault("torn-update") and package.startswith("nvidia-driver") else "ii "
    if form:
        text = (
            form.replace("${Package}", package)
            .replace("${Version}", version)
            .replace("${Status}", "install ok installed")
        )
        out(text.replace("${db:Status-Abbrev}", state).replace("\\n", "\n").removesuffix("\n"))
    elif status:
        out(f"Package: {package}\nStatus: install ok installed\nArchitecture: arm64\nVersion: {version}")
    else:
        out(f"{state} {package}  {version}  arm64  {title}")
