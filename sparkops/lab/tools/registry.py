"""Which module answers for which program; imported only when it is called."""

from __future__ import annotations

TOOLS: dict[str, str] = {
    "docker": "sparkops.lab.docker.cli",
    "dockerd": "sparkops.lab.docker.boot",
    "nvidia-smi": "sparkops.lab.tools.gpu",
    "ibdev2netdev": "sparkops.lab.tools.network",
    "ip": "sparkops.lab.tools.network",
    "rdma": "sparkops.lab.tools.network",
    "ethtool": "sparkops.lab.tools.network",
    "ping": "sparkops.lab.tools.network",
    "ss": "sparkops.lab.tools.sockets",
    "sudo": "sparkops.lab.tools.sudo",
    "visudo": "sparkops.lab.tools.sudo",
    "crontab": "sparkops.lab.tools.services",
    "systemctl": "sparkops.lab.tools.services",
    "loginctl": "sparkops.lab.tools.services",
    "timedatectl": "sparkops.lab.tools.services",
    "nmcli": "sparkops.lab.tools.services",
    "ufw": "sparkops.lab.tools.services",
    "iptables": "sparkops.lab.tools.services",
    "dpkg": "sparkops.lab.tools.packages",
    "dpkg-query": "sparkops.lab.tools.packages",
    "nvidia-ctk": "sparkops.lab.tools.packages",
    "git": "sparkops.lab.tools.git",
    "uname": "sparkops.lab.tools.system",
    "lscpu": "sparkops.lab.tools.system",
    "nproc": "sparkops.lab.tools.system",
    "hostname": "sparkops.lab.tools.system",
    "id": "sparkops.lab.tools.system",
    "groups": "sparkops.lab.tools.system",
    "whoami": "sparkops.lab.tools.system",
    "df": "sparkops.lab.tools.system",
    "sha256sum": "sparkops.lab.tools.hashes",
    "free": "sparkops.lab.tools.system",
    "sysctl": "sparkops.lab.tools.system",
    "reboot": "sparkops.lab.tools.power",
    "shutdown": "sparkops.lab.tools.power",
    "systemd-run": "sparkops.lab.tools.power",
}

WHERE_MISSING: dict[str, str] = {"curl": "sparkops.lab.tools.curl"}
"""Placed on the PATH only where the machine has no real one."""

INSIDE: dict[str, str] = {
    "hubcurl": "sparkops.lab.tools.hubcurl",
    "vllm": "sparkops.lab.engine.vllm",
    "ray": "sparkops.lab.engine.ray",
    "litellm": "sparkops.lab.engine.litellm",
    "shim": "sparkops.lab.docker.shim",
}

ASKED = ("docker", "nvidia-smi")
"""Whose answers change while a node runs: the lab's process is asked for them. Each module says by
`at_once(node, words)` what can be answered without waiting."""
