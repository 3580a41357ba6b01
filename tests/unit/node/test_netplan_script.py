"""A network configuration is tried, and kept only if somebody confirms it."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from ipaddress import IPv4Interface
from pathlib import Path

from sparkops.core.fabric.addressing import InterfaceSetting
from sparkops.core.fabric.netplan import merged
from support.shells import NodeShell

ADDED = InterfaceSetting((IPv4Interface("10.0.1.1/24"),), new=True)
PATH = "/etc/netplan/99-sparkops-fabric.yaml"


def ended(process: Path) -> bool:
    try:
        return " Z " in process.read_text()
    except OSError:
        return True


class Netplan:
    """A `netplan` that notes which text is in force at each `apply`, and timers that end when they are told to."""

    def __init__(self, node: NodeShell, code: int = 0, refuses: int = 0) -> None:
        self.node, self.told, self.timers = node, node.home / "told", node.home / "timers"
        file, trial = node.root / PATH[1:], node.root / "run/netplan/99-sparkops-fabric.yaml"
        self.timers.mkdir(exist_ok=True)
        self.told.touch()
        text = f"{{ cat '{trial}' || cat '{file}'; }} 2>/dev/null >>'{self.told}'; exit {code}"
        node.tool("netplan", f"[ $1 = apply ] || exit {refuses}\n{text}")
        real = shutil.which("sleep")
        waits = f"echo $PPID >'{self.timers}'/$1.pid; mkdir '{self.timers}'/$1; while [ -e '{self.timers}'/$1 ]"
        node.tool("sleep", f"case $1 in 0.3 | 1) exec {real} $1 ;; esac; {waits}; do {real} 0.05; done")

    def do(self, verb: str, *words: str, stdin: str = "") -> tuple[int, str]:
        ran = self.node.run("netplan", verb, PATH, *words, stdin=stdin)
        return ran.returncode, ran.stdout + ran.stderr

    def applied(self) -> list[str]:
        return self.told.read_text().split()

    def ends(self, timer: str) -> None:
        """The timer of the try for so many seconds ends, and has done its work."""
        self.until((self.timers / timer).exists)
        process = Path("/proc", (self.timers / f"{timer}.pid").read_text().strip(), "stat")
        (self.timers / timer).rmdir()
        self.until(lambda: ended(process))

    def until(self, holds: Callable[[], object]) -> None:
        for _ in range(2000):
            if holds():
                return
            self.do("there")
        raise AssertionError(self.left())

    def left(self) -> set[str]:
        """The names below the folders that netplan reads."""
        return {path.name for path in self.node.root.rglob("netplan/*")}


def test_a_try_that_is_confirmed_becomes_the_file_and_its_removal_is_tried_too(node: NodeShell) -> None:
    netplan = Netplan(node)
    assert netplan.do("try", "11", stdin="new\n") == (0, "")
    assert netplan.do("there") == (0, "try\n")
    assert netplan.do("keep") == (0, "")
    netplan.ends("11")
    assert (netplan.do("there"), netplan.do("show")) == ((0, "file\n"), (0, "new\n"))
    assert oct((node.root / PATH[1:]).stat().st_mode & 0o777) == "0o600"
    assert netplan.do("try", "12") == (0, "")
    assert netplan.do("drop") == (0, "")
    netplan.ends("12")
    assert (netplan.applied(), netplan.left()) == (["new", "network:", "{version:", "2}"], set())


def test_a_try_that_nobody_confirms_is_taken_back(node: NodeShell) -> None:
    netplan, file = Netplan(node), Path(node.root, PATH[1:])
    file.parent.mkdir(parents=True)
    file.write_text("old\n")
    netplan.do("try", "11", stdin="new\n")
    netplan.ends("11")
    netplan.until(lambda: netplan.applied() == ["new", "old"])
    assert netplan.do("keep") == (1, "it was taken back, because it was not confirmed within its minute\n")
    code, said = netplan.do("drop")
    assert (code, "the file is in force again" in said) == (1, True)
    assert (netplan.do("there"), file.read_text()) == ((0, "file\n"), "old\n")


def test_while_one_is_tried_no_other_is_and_a_timer_that_is_late_harms_nothing(node: NodeShell) -> None:
    netplan = Netplan(node)
    netplan.do("try", "11", stdin="first\n")
    assert netplan.do("try", "12", stdin="second\n") == (
        1,
        "another network configuration is being tried on this node\n",
    )
    assert netplan.do("keep") == (0, "")
    netplan.do("try", "12", stdin="second\n")
    netplan.ends("11")
    assert netplan.do("keep") == (0, "")
    netplan.ends("12")
    assert (netplan.applied(), netplan.do("show")) == (["first", "second"], (0, "second\n"))


def test_what_netplan_refuses_is_never_applied_and_what_fails_is_taken_back_at_once(node: NodeShell) -> None:
    netplan = Netplan(node, refuses=1)
    code, said = netplan.do("try", "11", stdin="new\n")
    assert (code, said.startswith("netplan generate"), netplan.applied()) == (1, True, [])
    netplan.ends("11")
    fails = Netplan(node, code=1)
    code, said = fails.do("try", "12", stdin="new\n")
    assert (code, said.startswith("netplan apply")) == (1, True)
    fails.ends("12")
    assert fails.do("there") == (0, "")
    assert fails.do("drop") == (0, ""), "there is none"


def test_others_see_that_one_is_tried(node: NodeShell) -> None:
    netplan = Netplan(node)
    netplan.do("try", "11", stdin="new\n")
    assert oct((node.root / "run/netplan").stat().st_mode & 0o777) == "0o755"
    netplan.do("keep")
    netplan.ends("11")


def test_what_is_taken_back_or_removed_leaves_no_address_of_ours_on_an_interface(node: NodeShell) -> None:
    netplan, text = Netplan(node), merged("", {"a0": ADDED, "a1": replace(ADDED, new=False)})
    more = merged(text, {"b0": replace(ADDED, addresses=(IPv4Interface("10.0.2.1/24"),))})
    shown = "1: a0 inet 10.0.1.1/24 scope global 2: b0 inet 10.0.2.1/24 scope"
    node.tool("ip", f"case $1 in -o) echo '{shown}' ;; *) echo \"$*\" >>'{node.home}/ip' ;; esac")
    netplan.do("try", "11", stdin=text)
    netplan.ends("11")
    netplan.until(lambda: not netplan.left())
    netplan.do("try", "12", stdin=text)
    assert netplan.do("keep") == (0, "")
    netplan.ends("12")
    netplan.do("try", "13", stdin=more)
    netplan.ends("13")
    netplan.until(lambda: netplan.do("there") == (0, "file\n"))
    netplan.do("try", "14")
    assert netplan.do("drop") == (0, "")
    netplan.ends("14")
    gone = ["addr del 10.0.1.1/24 dev a0", "addr del 10.0.2.1/24 dev b0", "addr del 10.0.1.1/24 dev a0"]
    assert (node.home / "ip").read_text().splitlines() == gone
