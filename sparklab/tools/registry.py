"""Which module answers for which program; imported only when it is called."""

TOOLS: dict[str, str] = {
    "docker": "sparklab.fake_docker.cli",
    "dockerd": "sparklab.fake_docker.start",
    "nvidia-smi": "sparklab.tools.gpu",
    "ibdev2netdev": "sparklab.tools.network",
    "ip": "sparklab.tools.network",
    "rdma": "sparklab.tools.network",
    "ethtool": "sparklab.tools.network",
    "ping": "sparklab.tools.network",
    "ss": "sparklab.tools.sockets",
    "sudo": "sparklab.tools.sudo",
    "visudo": "sparklab.tools.sudo",
    "crontab": "sparklab.tools.services",
    "systemctl": "sparklab.tools.services",
    "loginctl": "sparklab.tools.services",
    "timedatectl": "sparklab.tools.services",
    "nmcli": "sparklab.tools.services",
    "ufw": "sparklab.tools.services",
    "iptables": "sparklab.tools.services",
    "dpkg": "sparklab.tools.packages",
    "dpkg-query": "sparklab.tools.packages",
    "nvidia-ctk": "sparklab.tools.packages",
    "git": "sparklab.tools.git",
    "uname": "sparklab.tools.system",
    "lscpu": "sparklab.tools.system",
    "nproc": "sparklab.tools.system",
    "hostname": "sparklab.tools.system",
    "id": "sparklab.tools.system",
    "groups": "sparklab.tools.system",
    "whoami": "sparklab.tools.system",
    "df": "sparklab.tools.system",
    "sha256sum": "sparklab.tools.hashes",
    "free": "sparklab.tools.system",
    "sysctl": "sparklab.tools.system",
    "reboot": "sparklab.tools.power",
    "shutdown": "sparklab.tools.power",
    "systemd-run": "sparklab.tools.power",
}

WHERE_MISSING: dict[str, str] = {"curl": "sparklab.tools.curl"}
"""Placed on the PATH only where the machine has no real one."""

INSIDE: dict[str, str] = {
    "hubcurl": "sparklab.tools.hubcurl",
    "vllm": "sparklab.engine.vllm",
    "ray": "sparklab.engine.ray",
    "litellm": "sparklab.engine.litellm",
    "shim": "sparklab.fake_docker.shim",
}

ASKED = ("docker", "nvidia-smi")
"""Whose answers change while a node runs: the lab's process is asked for them. Each module says by
`at_once(node, words)` what can be answered without waiting."""
