"""What the manifest on a node lists: all that sparkops placed there (`node/manifest.sh` writes and undoes it)."""

from dataclasses import dataclass

VERSION = 1
KINDS = {
    "file": "file",
    "folder": "directory and its content",
    "made": "directory (removed only if empty)",
    "empty": "file (removed only if empty)",
    "newline": "newline added at the end of",
    "authorized-key": "public key for logging in",
    "crontab": "crontab entry",
    "sudoers": "sudoers file",
    "netplan": "netplan file",
    "linger": "linger (loginctl) of the user",
    "service": "start at boot, enabled for the service",
}
"""The title of each kind of entry."""


@dataclass(frozen=True)
class Entry:
    kind: str
    what: str

    @property
    def title(self) -> str:
        return KINDS.get(self.kind, self.kind)


def version(text: str | None) -> int | None:
    """The version of the manifest's format; None if there is no manifest, or the text is not one."""
    first = (text or "").split("\n", 1)[0].split()
    return int(first[1]) if len(first) == 2 and first[0] == "sparkops-manifest" and first[1].isdigit() else None


def entries(text: str | None) -> tuple[Entry, ...]:
    found = (line.partition(" ") for line in (text or "").splitlines()[1:])
    return tuple(Entry(kind, what) for kind, _, what in found if kind and what)
