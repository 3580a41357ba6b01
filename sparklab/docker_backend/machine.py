"""What a build inside a container needs of this machine for pip to work there: settings, CA bundle, wheels.

Nothing of it is in the repository; a machine without any such setting gives an almost empty directory.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

INSIDE = "/opt/machine"
KEPT = ("index-url", "extra-index-url", "trusted-host", "timeout", "default-timeout", "proxy", "retries")
PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
WHEELS = "torch-*.whl"


def settings() -> dict[str, str]:
    """pip's own view of its settings, environment before files."""
    words = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    found: dict[str, str] = {}
    for line in listed.splitlines():
        name, equals, value = line.partition("=")
        if equals:
            key = name.rpartition(".")[2]
            if key not in found or name.startswith(":env:"):
                found[key] = value.strip("'\"")
    return found


def write(machine: Path) -> None:
    """Fill `machine/` of a build context: pip.conf, ca.crt."""
    machine.mkdir(parents=True, exist_ok=True)
    found = settings()
    lines = ["[global]", "disable-pip-version-check = true", "root-user-action = ignore"]
    for key in KEPT:
        value = " ".join(
            word for word in found.get(key, "").replace("\\n", " ").split() if not word.startswith("file:")
        )
        if value:
            lines.append(f"{key} = {value}")
    bundle = found.get("cert") or os.environ.get("SSL_CERT_FILE", "")
    if bundle and Path(bundle).is_file():
        shutil.copy(bundle, machine / "ca.crt")
        lines.append(f"cert = {INSIDE}/ca.crt")
    (machine / "pip.conf").write_text("\n".join(lines) + "\n")


def write_wheels(wheels: Path) -> None:
    """Fill `wheels/` of a build context."""
    wheels.mkdir(parents=True, exist_ok=True)
    for folder in settings().get("find-links", "").replace("\\n", " ").split():
        if Path(folder).is_dir():
            for wheel in sorted(Path(folder).glob(WHEELS)):
                shutil.copy(wheel, wheels / wheel.name)
    (wheels / "README").write_text("Wheels of the machine that builds, for what its package index does not have.\n")


def proxies() -> list[str]:
    """`--build-arg` for the proxies that Docker passes through without a declaration."""
    return [word for name in PROXIES if name in os.environ for word in ("--build-arg", f"{name}={os.environ[name]}")]
