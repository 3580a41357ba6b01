"""Which module answers for which program; imported only when it is called."""

TOOLS = {
    name: f"sparklab.{module}"
    for module, names in {
        "fake_docker.cli": "docker",
        "fake_docker.start": "dockerd",
        "tools.git": "git",
        "tools.gpu": "nvidia-smi",
        "tools.hashes": "sha256sum",
        "tools.netplan": "netplan",
        "tools.network": "ibdev2netdev ip rdma ethtool ping",
        "tools.perftest": "ib_write_bw",
        "tools.packages": "dpkg dpkg-query nvidia-ctk",
        "tools.repair": "apt dmesg fwupdmgr modprobe swapoff swapon update-locale usermod",
        "tools.power": "reboot shutdown systemd-run",
        "tools.services": "crontab systemctl loginctl timedatectl nmcli ufw iptables",
        "tools.sockets": "ss",
        "tools.sudo": "sudo visudo",
        "tools.system": "uname lscpu nproc hostname id groups whoami df free sysctl",
    }.items()
    for name in names.split()
}

CHANGING = (
    *("apt", "docker", "fwupdmgr", "ip", "loginctl", "modprobe", "nmcli"),
    *("swapoff", "systemctl", "timedatectl", "usermod"),
)
"""What may repair something (`repairs.py`)."""

INSIDE = {
    "curl": "sparklab.tools.curl",
    "hubcurl": "sparklab.tools.hubcurl",
    "vllm": "sparklab.engine.vllm",
    "ray": "sparklab.engine.ray",
    "litellm": "sparklab.engine.litellm",
    "webui": "sparklab.engine.webui",
    "shim": "sparklab.fake_docker.shim",
}

"""What is called from elsewhere than a node's PATH; `curl` by its stub, where the machine has no real one."""

ASKED = (
    *("docker", "nvidia-smi", "ibdev2netdev", "ip", "rdma", "ethtool", "ping", "dpkg", "dpkg-query", "nvidia-ctk"),
    *("systemctl", "nmcli", "uname", "lscpu", "nproc", "hostname", "id", "groups", "whoami", "free", "sysctl"),
)
"""What the lab's process answers, so that no Python starts: a fleet of hundreds is asked all the time. A module with a
function `at_once(node, words)` says by it what can be answered without waiting."""
