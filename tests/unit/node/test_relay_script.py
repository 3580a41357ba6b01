"""`node/relay.sh` before and after a copy: who may hand it in, and what is taken away."""

import fcntl
import stat

from support.relays import COPY, row_of
from support.shells import NodeShell


def test_the_key_may_hand_in_one_copy_and_nothing_else(node: NodeShell) -> None:
    sender, receiver, _ = row_of(node)
    (line,) = [line for line in receiver.keys.read_text().splitlines() if "sparkops-copy" in line]
    receive = f".local/state/sparkops/relay/{COPY}/receive"
    assert line.startswith(f'restrict,command="exec sh {receive}",from="10.0.0.1,10.0.0.2",expiry-time="20')
    assert line.endswith(f" ssh-ed25519 BBBB sparkops-copy:{COPY}")
    assert stat.S_IMODE(receiver.keys.stat().st_mode) == 0o600
    private = sender.state / "relay" / COPY / "key"
    assert (private.read_text(), stat.S_IMODE(private.stat().st_mode)) == ("PRIVATE\n", 0o600)


def test_a_copy_that_goes_on_is_neither_listed_as_left_nor_closed(node: NodeShell) -> None:
    place = row_of(node)[1]
    pid = place.state / "jobs" / COPY / "pid"
    pid.parent.mkdir(parents=True)
    pid.write_text("1\n")
    assert place.run("left").stdout == f"{COPY}\n"
    with pid.open() as job:
        fcntl.flock(job, fcntl.LOCK_EX)
        assert place.run("left").stdout == ""
        place.run("close", COPY)
        assert place.left() != []
    place.run("close", COPY)
    assert place.left() == []


def test_a_full_disk_leaves_authorized_keys_as_they_were(node: NodeShell) -> None:
    place = row_of(node)[1]
    before = place.keys.read_text()
    node.tool("mv", "exit 1")
    assert place.run("open", "copy-y", "10.0.0.1", stdin="ssh-ed25519 DDDD\n").returncode == 73
    assert (place.keys.read_text(), list(place.keys.parent.iterdir())) == (before, [place.keys])
