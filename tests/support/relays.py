"""Three nodes in a row through which an image passes; small programs in the place of docker and ssh."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

from support.shells import NodeShell

COPY = "copy-x-1"
HOP = ("spark", "next", "22", "-")
DOCKER = """
case $1 in
    save) cat "$HOME/image"; [ -z "${SAVE_FAILS:-}" ] || exit 1; echo END ;;
    load)
        [ -z "${LOAD_HANGS:-}" ] || exec /usr/bin/env python3 -c "$MURMUR"
        cat >"$HOME/half"
        tail -n 1 "$HOME/half" | grep -qx END || { rm "$HOME/half"; echo 'unexpected EOF' >&2; exit 1; }
        mv "$HOME/half" "$HOME/loaded"
        ;;
esac
"""
MURMUR = "import os, time\nfd = os.open('/dev/zero', 0)\nwhile os.read(fd, 1): time.sleep(0.5)"
"""A program that hangs and still, as one in Go does, reads a byte of its own now and then."""
SSH = 'cd "$NEXT" && HOME=$NEXT exec sh .local/state/sparkops/relay/copy-x-1/receive'


class Place:
    """One node of the row."""

    def __init__(self, node: NodeShell) -> None:
        self.node = node
        self.home = node.home
        self.state = Path(node.home, ".local/state/sparkops")
        self.keys = Path(node.home, ".ssh/authorized_keys")

    def run(self, verb: str, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return self.node.run("relay", verb, str(self.state), *words, stdin=stdin)

    def start(self, verb: str, stall: int, *words: str) -> subprocess.Popen[str]:
        return self.node.start("relay", verb, str(self.state), COPY, "1000", str(stall), *words)

    def left(self) -> list[str]:
        found = [str(path) for path in (self.state / "relay").glob("*")]
        return found + [line for line in self.keys.read_text().splitlines() if "sparkops-copy" in line]

    def has(self, name: str) -> bool:
        return (self.home / name).exists()


def row_of(node: NodeShell) -> list[Place]:
    """A sender, one that passes on, one that only receives; keys and pipes are in place."""
    node.tool("docker", DOCKER)
    node.tool("ssh", SSH)
    homes = [node.tools / f"home of {number}" for number in (1, 2, 3)]
    for home in homes:
        (home / ".ssh").mkdir(parents=True)
        (home / ".ssh/authorized_keys").write_text("ssh-ed25519 AAAA a person\n")
    env = {"SPARKOPS_ROOT": "", "MURMUR": MURMUR}
    following = (homes[1], homes[2], homes[2])
    row = [
        Place(replace(node, home=home, extra={**env, "NEXT": str(next_)}))
        for home, next_ in zip(homes, following, strict=True)
    ]
    (homes[0] / "image").write_bytes(os.urandom(3_000_000) + b"\n")
    for receiver in row[1:]:
        assert receiver.run("open", COPY, "10.0.0.1,10.0.0.2", stdin="ssh-ed25519 BBBB\n").returncode == 0
    for sender in row[:2]:
        assert sender.run("hand", COPY, stdin="sparkops-next ssh-ed25519 CCCC\nPRIVATE\n").returncode == 0
    return row
