"""`node/switch.sh` and `node/answer.sh`: what the key of a fleet's endpoint may do on a node, and nothing else."""

import fcntl
import stat
import subprocess

import pytest

from sparkops.core.plan import Secret
from sparkops.node_commands import ondemand
from sparkops.remote.frame import expand
from support.shells import NodeShell

CHAT, CODER = "sparkops-chat-server-0123abcd", "sparkops-coder.x-head-4567cdef"
DOCKER = f"""
echo "$*" >>"$HOME/docker.log"
case "$1 $*" in
ps*name=^/?{CHAT}\\$*label=sparkops.deployment=chat) echo 1111 ;;
inspect*) echo exited 0 ;;
esac
"""
ORIGINS = ("10.0.0.1", "10.1.0.1")
PERSON = "ssh-ed25519 AAAA a person\n"
LINE = (
    'restrict,command="exec sh .local/state/sparkops/ondemand/lab-gateway/answer",from="10.0.0.1,10.1.0.1" '
    "ssh-ed25519 BBBB sparkops-ondemand:lab-gateway\n"
)


class Switch:
    """A node on which the endpoint of the fleet `lab` may start and stop two containers."""

    def __init__(self, node: NodeShell) -> None:
        self.node = node
        self.state = node.home / ".local/state/sparkops"
        self.keys = node.home / ".ssh/authorized_keys"
        self.folder = self.state / "ondemand/lab-gateway"
        node.tool("docker", DOCKER)
        node.tool("sudo", "exit 1")
        (node.root / "proc/meminfo").write_text("MemFree: 10 kB\nMemAvailable:   100 kB\nCached: 1 kB\n")
        self.keys.parent.mkdir()
        self.keys.write_text(PERSON)

    def run(self, verb: str) -> subprocess.CompletedProcess[str]:
        return self.node.run("switch", verb, str(self.state), "lab-gateway")

    def open(self, key: str = "BBBB") -> None:
        assert self.opened(key).returncode == 0

    def opened(self, key: str) -> subprocess.CompletedProcess[str]:
        containers = {CHAT: "chat", CODER: "coder.x"}
        command = ondemand.open_to(str(self.state), "lab-gateway", ORIGINS, Secret("a key"), containers, None)
        words = expand(command.words)[4:]
        return self.node.run("switch", *words, stdin=f"ssh-ed25519 {key}\n")

    def ask(self, asked: str | None) -> subprocess.CompletedProcess[str]:
        """As sshd runs the forced command for a client that asks for this; None: for a login."""
        given = {} if asked is None else {"SSH_ORIGINAL_COMMAND": asked}
        words = [self.node.shell, ".local/state/sparkops/ondemand/lab-gateway/answer"]
        return subprocess.run(
            words,
            env=self.node.env | given,
            cwd=self.node.home,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    @property
    def docker(self) -> list[str]:
        """The commands that changed something."""
        log = self.node.home / "docker.log"
        found = log.read_text().splitlines() if log.exists() else []
        return [line for line in found if line.split()[0] not in ("ps", "inspect")]


@pytest.fixture
def switch(node: NodeShell) -> Switch:
    return Switch(node)


def test_the_key_may_ask_one_script_from_the_addresses_of_the_endpoint(switch):
    switch.open()
    assert switch.keys.read_text() == PERSON + LINE
    assert stat.S_IMODE(switch.keys.stat().st_mode) == 0o600
    assert {stat.S_IMODE(path.stat().st_mode) for path in switch.folder.iterdir()} == {0o600}
    assert (switch.state / "manifest").read_text().splitlines()[-2:] == [
        f"folder {switch.state}/ondemand",
        f"authorized-key {LINE.strip()}",
    ]


def test_another_key_takes_the_place_of_the_first(switch):
    switch.open()
    switch.open("CCCC")
    assert switch.keys.read_text() == PERSON + LINE.replace("BBBB", "CCCC")
    assert "BBBB" not in (switch.state / "manifest").read_text()


def test_it_looks_starts_and_stops(switch):
    switch.open()
    assert switch.ask("look").stdout == f"memory 100\n{CHAT} exited 0\n"
    assert switch.ask(f"start {CHAT}").returncode == 0
    assert switch.ask(f"stop {CHAT}").returncode == 0
    assert switch.docker == ["start 1111", "stop -t 30 1111"]


def test_what_it_did_is_noted_and_stays_known_under_another_key(switch):
    switch.open()
    for _ in range(3):
        switch.ask(f"start {CHAT}")
    switch.ask(f"stop {CODER}")
    switch.open("CCCC")
    switch.ask(f"stop {CHAT}")
    acts = [line.split() for line in (switch.folder / "acts").read_text().splitlines()]
    assert [(mark, *act) for mark, _, *act in acts] == [("@", "start", "chat")] * 3 + [("@", "stop", "chat")]
    (switch.folder / "acts").write_text("@ x start chat\n" * 400)
    switch.ask(f"stop {CHAT}")
    assert len((switch.folder / "acts").read_text().splitlines()) == 200


def test_what_is_gone_is_stopped(switch):
    switch.open()
    assert switch.ask(f"stop {CODER}").returncode == 0
    assert switch.docker == []


def test_a_strangers_container_with_the_name_is_not_touched(switch):
    switch.open()
    asked = switch.ask(f"start {CODER}")
    assert (asked.returncode, asked.stderr) == (1, f"there is no container {CODER} of coder.x\n")
    assert switch.docker == []


def test_it_leaves_a_node_alone_that_a_run_changes(switch):
    switch.open()
    lock = switch.node.root / "run/lock/sparkops.lock"
    lock.parent.mkdir(parents=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert [switch.ask(f"{verb} {CHAT}").returncode for verb in ("start", "stop")] == [75, 75]
        assert "busy yes" in switch.ask("look").stdout
    assert switch.docker == []
    assert switch.ask(f"start {CHAT}").returncode == 0


ATTEMPTS = [
    None, "", " ", "\n", "sh", "bash -i", "scp -t /tmp", "sftp-server", "internal-sftp", "docker ps", "rm -rf ~",
    "looks", "look ", " look", "look look", "look; id", "look\nid", "look && id", "look | sh", "LOOK", "look --help",
    "start", "start ", "start  " + CHAT, f"start {CHAT} ", f"start {CHAT} {CHAT}", f"start {CHAT}; id",
    f"start {CHAT}\nid", f"start {CHAT}$(id)", f"start {CHAT}`id`", f"start /{CHAT}", "start 1111", "start stranger",
    "start *", f"start {CHAT[:-1]}?", f"start {CHAT[:-1]}.", "start chat", f"start {CHAT} chat", f"start\t{CHAT}",
    "stop", "stop stranger", "stop -t 0 " + CHAT, "stop --all", f"stop {CHAT.upper()}", f"restart {CHAT}",
    f"rm {CHAT}", f"exec {CHAT} sh", f"kill {CHAT}", f"Stop {CHAT}", "start ../../../answer", "start -a " + CHAT,
]  # fmt: skip


@pytest.mark.parametrize("asked", ATTEMPTS, ids=repr)
def test_it_refuses_everything_else(switch, asked):
    switch.open()
    told = switch.ask(asked)
    assert (told.returncode, told.stdout) == (77, "")
    assert told.stderr.startswith("this key may ask for `look`")
    assert not (switch.node.home / "docker.log").exists()


def test_once_it_is_closed_nothing_is_left_and_the_script_does_nothing(switch):
    switch.open()
    text = (switch.folder / "answer").read_text()
    switch.run("close")
    assert switch.keys.read_text() == PERSON
    assert not switch.folder.exists()
    assert "ondemand:" not in (switch.state / "manifest").read_text()
    switch.folder.mkdir()
    (switch.folder / "answer").write_text(text)
    assert {switch.ask(asked).returncode for asked in ("look", f"start {CHAT}", f"stop {CHAT}")} == {77}
    assert switch.run("close").returncode == 0


def test_a_full_disk_opens_nothing(switch):
    switch.node.tool("mv", "exit 1")
    assert switch.opened("BBBB").returncode == 73
    assert switch.keys.read_text() == PERSON
