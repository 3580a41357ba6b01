"""dpkg, dpkg-query and nvidia-ctk: the packages that matter on DGX OS."""

import fnmatch

from sparklab.layout import Node, here
from sparklab.tools.say import fail, out
from sparklab.tree import ailments
from sparklab.tree.etc import KERNEL

PACKAGES = {
    "nvidia-container-toolkit": ("1.19.0-1", "NVIDIA Container toolkit"),
    "nvidia-container-toolkit-base": ("1.19.0-1", "NVIDIA Container Toolkit Base"),
    "libnvidia-container1": ("1.19.0-1", "NVIDIA container runtime library"),
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
    if "--configure" in words:
        return 0
    if "--print-architecture" in words:
        out("arm64")
        return 0
    forms = [word.partition("=")[2] for word in words if word.startswith(("-f=", "--showformat="))]
    form = forms[0] if forms else words[words.index("-f") + 1] if "-f" in words else ""
    code, packages = 0, installed(here())
    for pattern in [word for word in words if not word.startswith(("-", "$"))] or ["*"]:
        matching = fnmatch.filter(packages, pattern)
        if not matching:
            code = fail(f"dpkg-query: no packages found matching {pattern}")
        for package in matching:
            out(_row(package, *packages[package], form, "-s" in words))
    return code


def installed(node: Node) -> dict[str, tuple[str, str]]:
    """Name -> version and title, as the node's faults have it."""
    version = "580.178.04" if node.fault("driver-updated") else ailments.driver(node)
    driver = (f"{version}-0ubuntu0.24.04.1", "NVIDIA driver (open kernel) metapackage")
    gone = ("nvidia-container", "libnvidia-") if node.fault("no-toolkit") else ()
    found = {name: about for name, about in PACKAGES.items() if not name.startswith(gone)}
    return found | {f"nvidia-driver-{version.partition('.')[0]}-open": driver}


def _row(package: str, version: str, title: str, form: str, status: bool) -> str:
    state = "iF " if here().fault("torn-update") and package.startswith("nvidia-driver") else "ii "
    if status and not form:
        return f"Package: {package}\nStatus: install ok installed\nArchitecture: arm64\nVersion: {version}"
    text = form or "${db:Status-Abbrev} ${Package}  ${Version}  arm64  ${Title}"
    fields = {"Package": package, "Version": version, "Status": "install ok installed"}
    for name, value in (fields | {"db:Status-Abbrev": state, "Title": title}).items():
        text = text.replace(f"${{{name}}}", value)
    return text.replace("\\n", "\n").removesuffix("\n")
