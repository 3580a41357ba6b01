"""`node/lock.sh` alone, with another holder that is this process."""

import fcntl
import os
import shutil
from pathlib import Path

import pytest

from support.shells import Held, NodeShell


def owner(run: str) -> str:
    return f'{{"run":"{run}","user":"me","machine":"desk","pid":1,"since":"now"}}'


def take(node: NodeShell, run: str, beats: str = "") -> tuple[int, str]:
    """The client says so many beats and hangs up."""
    ended = node.run("lock", run, "90", owner(run), stdin=beats)
    return ended.returncode, ended.stdout


@pytest.fixture
def node(node: NodeShell) -> NodeShell:
    """Who waits for a lock waits but a moment."""
    (node.root / "run/lock").mkdir(parents=True)
    node.tool("flock", f'[ "$1" != -w ] || {{ shift 2; set -- -w 0.1 "$@"; }}; exec {shutil.which("flock")} "$@"')
    return node


def lock_file(node: NodeShell) -> Path:
    return node.root / "run/lock/sparkops.lock"


def test_what_a_dead_holder_wrote_does_not_count_and_the_file_is_open_to_every_user(node: NodeShell) -> None:
    file = lock_file(node)
    before = os.umask(0o077)
    assert take(node, "run1") == (0, "held\n")
    os.umask(before)
    assert file.stat().st_mode & 0o777 == 0o666
    file.write_text(owner("long gone") + "\nmore of it that is longer than anything that comes after\n" * 9)
    assert take(node, "run2") == (0, "held\n")
    assert file.read_text() == owner("run2") + "\n"


def test_another_run_is_shown_the_holder_and_the_same_run_waits(node: NodeShell) -> None:
    file = lock_file(node)
    file.write_text(owner("run1") + "\n")
    with file.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert take(node, "run2") == (75, owner("run1") + "\n")
        assert take(node, "run1") == (75, "waiting\n")


def test_each_beat_buys_as_long_again_and_silence_frees_the_lock(node: NodeShell) -> None:
    real = shutil.which("timeout")
    node.tool("timeout", f'echo "$1" >>"$HOME/patience"; exec {real} "$@"')
    assert take(node, "run1", beats="...") == (0, "held\n")
    assert (node.home / "patience").read_text().split() == ["90"] * 4
    node.tool("timeout", f'shift; exec {real} 0.1 "$@"')
    silent = Held(node.words("lock", "run1", "90", owner("run1")), env=node.env)
    assert silent.end() == (0, b"held\n", b"")


def test_a_file_of_another_user_can_be_locked(node: NodeShell) -> None:
    """As root by becoming somebody else; otherwise by a file that we may not make, only write."""
    file = lock_file(node)
    file.touch()
    file.chmod(0o666)
    words = node.words("lock", "run1", "90", owner("run1"))
    if os.getuid() == 0:
        for parent in (node.root, *node.root.parents):
            if parent.owner() == "root" and str(parent).startswith("/tmp/"):
                parent.chmod(0o755)
        file.parent.chmod(0o1777)
        words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *words]
    else:
        file.parent.chmod(0o555)
    other = Held(words, env=node.env)
    assert other.line() == "held"
    assert (other.hang_up(), file.read_text()) == (0, owner("run1") + "\n")
    file.parent.chmod(0o755)


def test_a_file_that_cannot_be_written_is_said(node: NodeShell) -> None:
    file = lock_file(node)
    file.symlink_to("/proc/version")
    ended = node.run("lock", "run1", "90", owner("run1"))
    assert (ended.returncode, "cannot write" in ended.stderr) == (73, True)


def history(node: NodeShell) -> Path:
    return node.home / ".local/state/sparkops/history"


def note(run: str, event: str = "begin") -> str:
    return f'{{"event":"{event}","run":"{run}"}}\n'


def test_what_the_holder_says_in_braces_is_kept_and_a_begin_alone_makes_the_file(node: NodeShell) -> None:
    assert take(node, "run1", beats=note("run1", "end")) == (0, "held\n")
    assert not history(node).parent.exists()
    assert take(node, "run1", beats=f".{note('run1')}..{note('run1', 'end')}") == (0, "held\n")
    assert history(node).read_text() == note("run1") + note("run1", "end")
    assert history(node).stat().st_mode & 0o777 == 0o600
    assert f"file {history(node)}" in (history(node).parent / "manifest").read_text().splitlines()


def test_a_begin_whose_client_is_killed_stays_alone_and_half_a_line_is_not_kept(node: NodeShell) -> None:
    assert take(node, "run1", beats=note("run1") + note("run1", "end")[:-5]) == (0, "held\n")
    assert history(node).read_text() == note("run1")


def test_the_file_has_an_upper_bound_and_loses_what_is_damaged(node: NodeShell) -> None:
    history(node).parent.mkdir(parents=True)
    history(node).write_text(note("old") * 1500)
    assert take(node, "run1", beats=note("run1")) == (0, "held\n")
    kept = history(node).read_text().splitlines(keepends=True)
    assert (len(kept), kept[0], kept[-1]) == (1000, note("old"), note("run1"))
    history(node).write_text("\0\0\n" + note("old") + '{"event":"beg')
    assert take(node, "run1", beats=note("run1")) == (0, "held\n")
    assert history(node).read_text() == note("old") + note("run1")


def test_a_full_disk_takes_no_lock_away_and_leaves_the_history_as_it_was(node: NodeShell) -> None:
    history(node).parent.mkdir(parents=True)
    history(node).write_text(note("run1"))
    (history(node).parent / "history.new").symlink_to("/dev/full")
    assert take(node, "run2", beats=note("run2")) == (0, "held\n")
    assert history(node).read_text() == note("run1")
    history(node).parent.chmod(0o500)
    assert take(node, "run3", beats=f"{note('run3')}.") == (0, "held\n")
    history(node).parent.chmod(0o700)
