"""/etc, DMI and the static part of /proc as on a Founders Edition DGX Spark."""

from sparklab.layout import USER, Node

KERNEL = "6.17.0-1014-nvidia"
DRIVER = "580.142"

DGX_RELEASE = """DGX_NAME="DGX Spark"
DGX_PRETTY_NAME="NVIDIA DGX Spark"
DGX_SWBUILD_DATE="2025-09-10-13-50-03"
DGX_SWBUILD_VERSION="7.2.3"
DGX_COMMIT_ID="833b4a7"
DGX_PLATFORM="DGX Server for KVM"
DGX_SERIAL_NUMBER="{serial}"

DGX_OTA_VERSION="7.3.1"
DGX_OTA_DATE="Wed Dec 10 10:12:31 AM PST 2025"

DGX_OTA_VERSION="7.5.0"
DGX_OTA_DATE="Wed Jul 15 09:06:56 AM PDT 2026"
"""

OS_RELEASE = """PRETTY_NAME="Ubuntu 24.04.4 LTS"
NAME="Ubuntu"
VERSION_ID="24.04"
VERSION="24.04.4 LTS (Noble Numbat)"
VERSION_CODENAME=noble
ID=ubuntu
ID_LIKE=debian
"""

NVIDIA_VERSION = f"""NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  {DRIVER}  Release Build  (dvs-builder@U22-I3-AM14-24-3)
GCC version:  gcc version 13.3.0 (Ubuntu 13.3.0-6ubuntu2~24.04)
"""

KERNEL_VERSION = (
    f"Linux version {KERNEL} (buildd@bos03-arm64-052) (aarch64-linux-gnu-gcc-13) #14-Ubuntu SMP PREEMPT_DYNAMIC "
    "Tue Mar 17 19:01:40 UTC 2026\n"
)

CPUINFO = "".join(
    f"processor\t: {number}\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: {'0xd87' if number < 10 else '0xd85'}\n\n"
    for number in range(20)
)


VMSTAT = "oom_kill 0\npswpin 0\npswpout 0\nallocstall_normal 0\nallocstall_movable 0\n"
BUDDYINFO = (
    "Node 0, zone      DMA      1      1      1      0      1      1      1      1      1      1    445\n"
    "Node 0, zone   Normal   2110   1984   1502   1120    840    611    402    285    190    120  28211\n"
)
SYSCTL = {
    "kernel/osrelease": KERNEL,
    "vm/min_free_kbytes": "67584",
    "vm/swappiness": "60",
    "vm/watermark_boost_factor": "15000",
    "vm/overcommit_memory": "0",
    "net/ipv4/conf/all/arp_ignore": "0",
    "net/ipv4/conf/all/arp_announce": "0",
    "net/ipv4/conf/all/rp_filter": "2",
}


def volatile() -> dict[str, str]:
    """What is new after every boot."""
    import uuid

    return {
        "proc/sys/kernel/random/boot_id": f"{uuid.uuid4()}\n",
        "proc/uptime": "86423.51 1700112.20\n",
        "run/systemd/timesync/synchronized": "",
    }


def contents(node: Node) -> dict[str, str]:
    """Path below the node's root -> text."""
    dmi = {
        "sys_vendor": "NVIDIA",
        "product_name": "NVIDIA_DGX_Spark",
        "product_version": "A.7",
        "board_name": "P4242",
        "board_vendor": "NVIDIA",
        "bios_version": "5.36_0ACUM018",
    }
    return {
        "etc/dgx-release": DGX_RELEASE.format(serial=node.record["serial"]),
        "etc/fastos-release": 'NAME="DGX SPARK FASTOS"\nVERSION="1.91.51"\n',
        "etc/os-release": OS_RELEASE,
        "etc/machine-id": node.record["machine_id"] + "\n",
        "etc/hostname": node.hostname + "\n",
        "etc/nvidia/cx7-hotplug-enabled": "",
        "etc/default/earlyoom": "",
        "proc/version": KERNEL_VERSION,
        "proc/cmdline": f"BOOT_IMAGE=/boot/vmlinuz-{KERNEL} root=/dev/nvme0n1p2 ro quiet splash kho=off\n",
        "proc/cpuinfo": CPUINFO,
        "proc/driver/nvidia/version": NVIDIA_VERSION,
        "proc/swaps": "Filename\tType\tSize\tUsed\tPriority\n/swap.img file 16777212 0 -2\n",
        "proc/pressure/memory": "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
        "proc/vmstat": VMSTAT,
        "proc/buddyinfo": BUDDYINFO,
        "proc/sys/kernel/hostname": node.hostname + "\n",
        "etc/passwd": f"root:x:0:0:root:/root:/bin/bash\n{USER}:x:1000:1000:{USER}:{node.home}:/bin/bash\n",
        "etc/default/locale": "LANG=en_US.UTF-8\n",
        "etc/ufw/ufw.conf": "ENABLED=no\nLOGLEVEL=low\n",
        "var/run/cdi/nvidia.yaml": "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\n",
        f"var/lib/systemd/linger/{USER}": "",
        **volatile(),
        **{f"proc/sys/{name}": value + "\n" for name, value in SYSCTL.items()},
        "sys/module/nvidia/version": DRIVER + "\n",
        "sys/class/thermal/thermal_zone0/temp": "46300\n",
        "sys/class/thermal/thermal_zone0/type": "acpitz\n",
        **{f"sys/class/dmi/id/{name}": value + "\n" for name, value in dmi.items()},
    }
