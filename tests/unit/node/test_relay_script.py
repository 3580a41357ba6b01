"""`node/relay.sh` alone: three homes in a row, small programs in the place of docker and ssh, a stream that is cut."""

from __future__ import annotations

import os
import stat
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

COPY = "copy-x-1"
HOP = ("spark", "next", "22", "-")
DOCKER = """
case $1 in
    save) cat "$HOME/image"; sleep "${SAVE_SECONDS:-0}"; [ -z "${SAVE_FAILS:-}" ] || exit 1; echo END ;;
    load)
        [ -z "${LOAD_HANGS:-}" ] || exec python3 -c "$MURMUR"
        cat >"$HOME/half"
        tail -n 1 "$HOME/half" | grep -qx END || { rm "$HOME/half"; echo 'unexpected EOF' >&2; exit 1; }
        mv "$HOME/half" "$HOME/loaded"
        ;;
esac
"""
MURMUR = "import os, time\nfd = os.open('/dev/zero', 0)\nwhile os.read(fd, 1): time.sleep(0.5)"
"""A program that hangs and still, as one in Go does, reads a byte of its own now and then."""
SSH = 'cd "$NEXT" && HOME=$NEXT exec sh .local/state/sparkops/relay/copy-x-1/receive'


@dataclass
class Place:
    """One node of the row."""

    shell: Any

    @property
    def state(self) -> str:
        return f"{self.shell.home}/.local/state/sparkops"

    @property
    def keys(self) -> Path:
        return Path(self.shell.home, ".ssh", "authorized_keys")

    def run(self, verb: str, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        done: subprocess.CompletedProcess[str] = self.shell.run("relay", verb, self.state, *words, stdin=stdin)
        return done

    def start(self, verb: str, stall: int, *words: str) -> subprocess.Popen[str]:
        process: subprocess.Popen[str] = self.shell.start("relay", verb, self.state, COPY, "1000", str(stall), *words)
        return process

    def left(self) -> list[str]:
        found = [str(path) for path in Path(self.state, "relay").glob("*")]
        return found + [line for line in self.keys.read_text().splitlines() if "sparkops-copy" in line]

    def has(self, name: str) -> bool:
        return Path(self.shell.home, name).exists()


@pytest.fixture
def row(node: Any, tmp_path: Path) -> list[Place]:
    """A sender, one that passes on, one that only receives; keys and pipes are in place."""
    node.tool("docker", DOCKER)
    node.tool("ssh", SSH)
    homes = [tmp_path / f"home of {number}" for number in (1, 2, 3)]
    places = []
    for place, home in enumerate(homes):
        (home / ".ssh").mkdir(parents=True)
        (home / ".ssh" / "authorized_keys").write_text("ssh-ed25519 AAAA a person\n")
        following = homes[place + 1] if place < 2 else home
        places.append(
            Place(replace(node, home=home, extra={"NEXT": str(following), "SPARKOPS_ROOT": "", "MURMUR": MURMUR}))
        )
    (homes[0] / "image").write_bytes(os.urandom(3_000_000) + b"\n")
    for receiver in places[1:]:
        assert receiver.run("open", COPY, "10.0.0.1,10.0.0.2", stdin="ssh-ed25519 BBBB\n").returncode == 0
    for sender in places[:2]:
        assert sender.run("hand", COPY, stdin="sparkops-next ssh-ed25519 CCCC\nPRIVATE\n").returncode == 0
    return places


def copied(row: list[Place], *, sender: bool = True, stall: int = 60) -> list[int]:
    """Receivers first; the exit codes. A receiver that takes nothing for `stall` seconds is ended."""
    going = [row[2].start("receive", stall), row[1].start("receive", stall, *HOP)]
    going += [row[0].start("send", 3 * stall, "an image", *HOP)] if sender else []
    codes = []
    for process in going:
        process.communicate(timeout=300)
        codes.append(process.returncode)
    return codes


def test_both_load_what_passes_and_nothing_is_left(row):
    assert copied(row) == [0, 0, 0]
    sent = (Path(row[0].shell.home) / "image").read_bytes() + b"END\n"
    assert [Path(place.shell.home, "loaded").read_bytes() == sent for place in row[1:]] == [True, True]
    assert [place.left() for place in row] == [[], [], []]
    assert [place.keys.read_text() for place in row] == ["ssh-ed25519 AAAA a person\n"] * 3


def test_the_key_may_hand_in_one_copy_and_nothing_else(row):
    (line,) = [line for line in row[1].keys.read_text().splitlines() if "sparkops-copy" in line]
    receive = f".local/state/sparkops/relay/{COPY}/receive"
    assert line.startswith(f'restrict,command="exec sh {receive}",from="10.0.0.1,10.0.0.2",expiry-time="20')
    assert line.endswith(f" ssh-ed25519 BBBB sparkops-copy:{COPY}")
    assert stat.S_IMODE(row[1].keys.stat().st_mode) == 0o600
    private = Path(row[0].state, "relay", COPY, "key")
    assert (private.read_text(), stat.S_IMODE(private.stat().st_mode)) == ("PRIVATE\n", 0o600)


def test_half_a_stream_is_no_image_anywhere(row):
    row[0].shell.extra["SAVE_FAILS"] = "1"
    assert copied(row) == [1, 1, 1]
    assert [place.has("loaded") or place.has("half") for place in row] == [False] * 3
    assert [place.left() for place in row] == [[], [], []]


def test_one_that_hangs_is_ended_and_does_not_keep_the_one_before_from_its_image(row):
    row[2].shell.extra["LOAD_HANGS"] = "1"
    assert copied(row, stall=10)[0] != 0
    assert row[1].has("loaded")
    assert [place.left() for place in row] == [[], [], []]


def test_one_that_hangs_in_the_middle_does_not_keep_the_next_one_from_its_image(row):
    row[1].shell.extra["LOAD_HANGS"] = "1"
    assert (copied(row, stall=10)[1] != 0, row[2].has("loaded")) == (True, True)
    assert [place.left() for place in row] == [[], [], []]


def test_a_receiver_to_whom_nobody_comes_ends_by_itself(row):
    assert 0 not in copied(row, sender=False, stall=3)
    assert row[1].left() == row[2].left() == []


def test_a_copy_that_goes_on_is_neither_listed_as_left_nor_closed(row):
    job = Path(row[1].state, "jobs", COPY)
    job.mkdir(parents=True)
    (job / "pid").write_text("1\n")
    assert row[1].run("left").stdout == f"{COPY}\n"
    with subprocess.Popen(["flock", "-o", str(job / "pid"), "sleep", "600"], start_new_session=True) as holder:
        while row[1].run("left").stdout:
            time.sleep(0.1)
        row[1].run("close", COPY)
        assert row[1].left() != []
        os.killpg(holder.pid, 9)
    row[1].run("close", COPY)
    assert row[1].left() == []


def test_a_full_disk_leaves_authorized_keys_as_they_were(row, tmp_path):
    keys = row[1].keys
    before = keys.read_text()
    row[1].shell.tool("mv", "exit 1")
    assert row[1].run("open", "copy-y", "10.0.0.1", stdin="ssh-ed25519 DDDD\n").returncode == 73
    assert keys.read_text() == before
    assert list(keys.parent.iterdir()) == [keys]
