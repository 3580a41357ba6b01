"""Process 1 of a lab node: emulates what only hardware has, then keeps sshd, cron and dockerd running.

Reads /lab/node.json (who this node is) and /lab/state (what must outlive a reboot: faults and sshd's log).
Real files are given wherever possible: what cannot be real is mounted over the kernel's own files, so that nothing
on the node has to look elsewhere.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import uuid
from pathlib import Path

LAB = Path("/lab")
RUN = Path("/run/lab")
NETWORKD = Path("/run/systemd/network")
LATE = 60.0
USERS = ("spark", "ops", "plain")
MEM_TOTAL = 127535084
SWAP_TOTAL = 16777212
MACHINE = {
    "sys_vendor": "NVIDIA",
    "product_name": "NVIDIA_DGX_Spark",
    "board_name": "P4242",
    "bios_version": "5.36_0ACUM018",
}
LINK_UP = {"state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": "200 Gb/sec (4X HDR)"}
LINK_DOWN = {"state": "1: DOWN", "phys_state": "3: Disabled", "rate": "40 Gb/sec (4X QDR)"}


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False)


def put(folder, texts):
    """Write a file with one line for each name and text, below FOLDER."""
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")


def over(source, target):
    """Mount SOURCE over TARGET; says so when the kernel does not allow it."""
    done = run("mount", "--bind", str(source), str(target))
    if done.returncode:
        print(f"lab: {target} stays as it is: {done.stderr.strip()}", flush=True)


def homes():
    """First boot: home directories with the lab's key; the operator's model cache."""
    for user in USERS:
        home = Path("/home") / user
        if home.exists():
            continue
        shutil.copytree(f"/var/lib/homes/{user}", home)
        (home / ".ssh").mkdir(mode=0o700)
        shutil.copy(LAB / "authorized_keys", home / ".ssh/authorized_keys")
        if user != "plain":
            shutil.copytree(LAB / "huggingface", home / ".cache/huggingface", symlinks=True)
        run("chown", "-R", f"{user}:{user}", str(home))
        home.chmod(0o750)


def identity(node):
    """Files that make one node this node: sudo's rule, machine id, host keys."""
    sudoers = Path("/etc/sudoers.d/lab")
    if not sudoers.exists():
        sudoers.write_text("".join(f"{user} ALL=(ALL) NOPASSWD: ALL\n" for user in USERS))
        sudoers.chmod(0o440)
    Path("/etc/machine-id").write_text(node["machine_id"] + "\n")
    for key in (LAB / "host_keys").iterdir():
        copy = Path("/etc/ssh") / key.name
        shutil.copy(key, copy)
        copy.chmod(0o644 if key.suffix == ".pub" else 0o600)
    hosts = Path("/etc/hosts")
    if node["hostname"] not in hosts.read_text():
        hosts.write_text(hosts.read_text() + f"127.0.1.1 {node['hostname']}\n")
    modes = {"/run/sshd": 0o755, "/run/lab": 0o755, "/run/systemd/timesync": 0o755}
    for folder, mode in (modes | dict.fromkeys(("/run/lock", "/tmp", "/var/tmp"), 0o1777)).items():
        Path(folder).mkdir(parents=True, exist_ok=True)
        Path(folder).chmod(mode)
    Path("/run/systemd/timesync/synchronized").touch()
    boot = RUN / "boot_id"  # runc.py gives it to the node's containers too
    boot.write_text(f"{uuid.uuid4()}\n")
    over(boot, "/proc/sys/kernel/random/boot_id")


class Memory:
    """/proc/meminfo of a 128 GB machine that has in use what this machine has in use."""

    def __init__(self):
        self.kernel = open("/proc/meminfo")  # noqa: SIM115
        self.shown = os.open(RUN / "meminfo", os.O_CREAT | os.O_RDWR, 0o644)
        self.refresh()
        over(RUN / "meminfo", "/proc/meminfo")

    def refresh(self):
        self.kernel.seek(0)
        lines = [line.split() for line in self.kernel.read().splitlines()]
        values = {words[0]: int(words[1]) for words in lines}
        more = MEM_TOTAL - values["MemTotal:"]
        for name in ("MemTotal:", "MemFree:", "MemAvailable:"):
            values[name] += more
        values.update({"SwapTotal:": SWAP_TOTAL, "SwapFree:": SWAP_TOTAL, "CmaTotal:": 131072, "CmaFree:": 131072})
        units = {words[0]: " kB" if len(words) > 2 else "" for words in lines}
        text = "".join(f"{name:<16}{value:>11}{units.get(name, ' kB')}\n" for name, value in values.items())
        os.pwrite(self.shown, text.encode(), 0)


class Netdev:
    """One network interface, configured when it appears; a replugged one has another number."""

    def __init__(self, interface, address, mtu):
        self.interface, self.address, self.mtu = interface, address, mtu
        self.sysfs = Path("/sys/class/net") / interface
        self.known = ""

    def refresh(self, addressed=True):
        """Bring it up and give it its address; says whether it is there."""
        try:
            number = (self.sysfs / "ifindex").read_text()
        except OSError:
            return False
        if number != self.known:
            run("ip", "link", "set", self.interface, "mtu", self.mtu, "up")
            self.appeared()
            self.known = number
        if (
            addressed
            and self.address
            and self.address not in run("ip", "-4", "-o", "addr", "show", self.interface).stdout.split()
        ):
            run("ip", "addr", "add", self.address, "brd", "+", "dev", self.interface)
        return True

    def appeared(self):
        """What is to be done for a new one."""


def generated(interface):
    """Address and MTU in the file that netplan generates for networkd, which does not run here."""
    try:
        text = (NETWORKD / f"10-netplan-{interface}.network").read_text()
    except OSError:
        text = ""
    found = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    return found.get("Address"), found.get("MTUBytes", "1500")


class Port(Netdev):
    """One CX7 netdev with its RDMA device. A veth has no port name, vendor or speed, so its directory in sysfs is
    replaced by one that has them and links to the rest in another mount of sysfs."""

    def __init__(self, port):
        super().__init__(port["interface"], port["address"], "9000")
        self.given = self.address, self.mtu
        self.rdma, self.cage = port["rdma"], port["cage"]
        self.files = RUN / "net" / self.interface
        self.state = None

    def tree(self, classes):
        """The RDMA device below the class tree that is being built."""
        device = classes / "infiniband" / self.rdma
        self.port = device / "ports/1"
        (device / "device/net" / self.interface).mkdir(parents=True)
        put(device, {"fw_ver": "28.45.4028", "ports/1/link_layer": "Ethernet"})
        for index in range(4):
            kind = "RoCE v2" if index % 2 else "IB/RoCE v1"
            put(self.port / "gid_attrs", {f"types/{index}": kind, f"ndevs/{index}": self.interface})
        self.show(up=False)

    def gids(self):
        """Link-local twice, then the IPv4 address twice, as RoCE v1 and v2."""
        if not self.address:
            return ("0000:" * 7 + "0000",) * 4
        mapped = [int(part) for part in self.address.split("/")[0].split(".")]
        local = "fe80:0000:0000:0000:4ebb:47ff:fe01:{:02x}{:02x}".format(*mapped[2:])
        global_ = "0000:0000:0000:0000:0000:ffff:{:02x}{:02x}:{:02x}{:02x}".format(*mapped)
        return (local, local, global_, global_)

    def show(self, up):
        if self.state == up:
            return
        self.state = up
        put(self.port, LINK_UP if up else LINK_DOWN)
        put(self.port / "gids", dict(zip("0123", self.gids(), strict=True)))
        if self.files.exists():
            put(self.files, {"speed": 200000 if up else -1})

    def appeared(self):
        ipv6 = Path(f"/proc/sys/net/ipv6/conf/{self.interface}/disable_ipv6")  # Docker switches it off
        if ipv6.exists():
            ipv6.write_text("0")
        shutil.rmtree(self.files, ignore_errors=True)
        put(self.files, {"phys_port_name": f"p{self.cage}", "device/vendor": "0x15b3", "speed": -1})
        real = RUN / "sysfs/class/net" / self.interface
        for entry in real.iterdir():
            if entry.name not in ("speed", "device", "phys_port_name"):
                (self.files / entry.name).symlink_to(entry)
        self.state = None
        over(self.files, self.sysfs.resolve())

    def refresh(self, addressed=True):
        wanted = generated(self.interface) if (LAB / "state/not-set-up").exists() else self.given
        if wanted != (self.address, self.mtu):
            self.address, self.mtu = wanted
            run("ip", "-4", "addr", "flush", "dev", self.interface)
            run("ip", "link", "set", self.interface, "mtu", self.mtu)
            self.state = None
        there = super().refresh(addressed)
        if there:
            try:
                self.show(up=(self.sysfs / "carrier").read_text().strip() == "1")
            except OSError:
                self.show(up=False)
        return there


def classes(ports):
    """/sys/class with InfiniBand devices and a GB10's DMI beside what the kernel has."""
    tree = RUN / "class"
    tree.mkdir()
    (RUN / "sysfs").mkdir()
    run("mount", "-t", "sysfs", "sysfs", str(RUN / "sysfs"))
    for entry in Path("/sys/class").iterdir():
        (tree / entry.name).mkdir()
        if entry.name not in ("infiniband", "dmi"):
            over(entry, tree / entry.name)
    for port in ports:
        port.tree(tree)
    put(tree / "dmi/id", MACHINE)
    run("mount", "--rbind", str(tree), "/sys/class")


def devices(ports):
    """The device files of the GPU (at once) and of RDMA (when its time has come)."""
    for number, name in ((255, "nvidiactl"), (0, "nvidia0")):
        run("mknod", "-m", "666", f"/dev/{name}", "c", "195", str(number))

    def rdma():
        folder = Path("/dev/infiniband")  # a restarted container's mount makes it, empty, before its time
        if (folder / "rdma_cm").exists():
            return
        folder.mkdir(exist_ok=True)
        for index, _port in enumerate(ports):
            run("mknod", "-m", "666", f"/dev/infiniband/uverbs{index}", "c", "231", str(192 + index))
        run("mknod", "-m", "666", "/dev/infiniband/rdma_cm", "c", "10", "58")

    return rdma


class Services:
    """sshd, cron and dockerd, started again when they end; dockerd last to be told to stop."""

    def __init__(self):
        path = "/usr/local/lib/sparkops-lab/bin:" + os.environ["PATH"]
        self.words = {
            "sshd": ["/usr/sbin/sshd", "-D", "-E", str(LAB / "state/sshd.log")],
            "cron": ["/usr/sbin/cron", "-f"],
            "dockerd": ["/usr/sbin/dockerd", "--log-level", "warn"],
        }
        self.env = {**os.environ, "PATH": path}
        self.pids = {}

    def start(self):
        for name, words in self.words.items():
            if name not in self.pids.values():
                if name == "dockerd":
                    Path("/var/run/docker.pid").unlink(missing_ok=True)
                self.pids[self.spawn(name, words)] = name

    def spawn(self, name, words):
        log = os.open(LAB / f"state/{name}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        actions = [(os.POSIX_SPAWN_DUP2, log, 1), (os.POSIX_SPAWN_DUP2, log, 2), (os.POSIX_SPAWN_CLOSE, log)]
        try:
            return os.posix_spawn(words[0], words, self.env, file_actions=actions, setsigmask=[])
        finally:
            os.close(log)

    def reap(self):
        with contextlib.suppress(ChildProcessError):
            while pid := os.waitpid(-1, os.WNOHANG)[0]:
                self.pids.pop(pid, None)

    def stop(self, *_signal):
        """What a shutdown does: stop the engine, which stops its containers; the rest dies with this process."""
        for pid, name in self.pids.items():
            if name == "dockerd":
                os.kill(pid, signal.SIGTERM)
                for _ in range(200):
                    if os.waitpid(pid, os.WNOHANG)[0]:
                        break
                    time.sleep(0.1)
        raise SystemExit(0)


def late(name, since):
    """Is it to come a while after Docker (None: does not answer yet), and not yet time?"""
    return (LAB / "state" / name).exists() and (since is None or time.monotonic() - since < LATE)


def docker_answers():
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(1)
        try:
            client.connect("/var/run/docker.sock")
            client.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
            return bool(client.recv(1))
        except OSError:
            return False


def boot():
    """Everything before the services; returns what has to be looked at each second."""
    node = json.loads((LAB / "node.json").read_text())
    run("/usr/sbin/netplan", "generate")
    identity(node)
    homes()
    ports = [Port(port) for port in node["ports"]]
    classes(ports)
    management = Netdev(node["management"]["interface"], node["management"]["address"], "1500")
    return Memory(), management, ports, devices(ports)


def main():
    memory, management, ports, rdma = boot()
    services = Services()
    signal.signal(signal.SIGTERM, services.stop)
    since = None
    while True:
        services.reap()
        services.start()
        if since is None and docker_answers():
            since = time.monotonic()
        memory.refresh()
        management.refresh()
        for port in ports:
            port.refresh(addressed=not late("late-fabric", since))
        if not late("late-device", since):
            rdma()
        time.sleep(1)


main()
