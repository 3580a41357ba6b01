"""The capture that `node/facts.sh` prints: a header, then frames `== NAME EXIT MS BYTES` with their payload.

`sparkops facts NODE --raw` is this text, and so is every fixture file. BYTES counts bytes; a capture whose bytes were
changed on the way (undecodable output of a tool) is still read, by looking for the next frame.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

VERSION = 1
HEADER = f"sparkops-facts {VERSION}"
END = "end"
TIMED_OUT = (124, 137, 143)
"""Exit codes of GNU timeout, of GNU timeout with SIGKILL, and of busybox."""
NO_ANSWER = "no answer within the time limit"
"""Begins the reason of a probe that timed out; checks look for it."""

_FRAME = rb"== (?P<name>[a-z0-9-]{1,40}) (?P<exit>\d{1,5}) (?P<ms>\d{1,12}) (?P<size>\d{1,12})\n"
_PART = rb"-- (?P<exit>\d{1,5}) (?P<size>\d{1,12}) (?P<name>[^\n]*)\n"


class Unreadable(ValueError):
    """The text is no capture, or one of an unknown version."""


@dataclass(frozen=True)
class Unread:
    """What could not be read, and why."""

    reason: str


@dataclass(frozen=True)
class Probe:
    """What one probe printed, or one of several outputs inside a probe's payload, framed `-- EXIT BYTES NAME`.

    `exit` is its exit code; `ms` the milliseconds that it took on the node.
    """

    name: str
    exit: int
    text: str
    ms: int = 0

    @property
    def ok(self) -> bool:
        return self.exit == 0

    @property
    def unread(self) -> Unread:
        """Why a probe that failed has no value."""
        said = [line.strip() for line in self.text.splitlines() if line.strip()]
        if said and said[0].startswith("not asked"):
            return Unread(said[0])
        if self.exit in TIMED_OUT:
            return Unread(f"{NO_ANSWER} ({self.ms / 1000:.0f} s)")
        told = [line for line in said if line[0] not in "{["]
        line = next((line for line in told if not line.startswith("WARNING")), next(iter(told), "nothing was printed"))
        if self.exit == 127:
            return Unread(line if "not found" in line else f"not installed: {line}")
        return Unread(f"{line} (exit {self.exit})")


def read(raw: str) -> dict[str, Probe]:
    """Every frame of a capture by its name; raises Unreadable only for a wrong first line."""
    data = _bytes(raw)
    if data.startswith(f"{HEADER}\r\n".encode()):
        data = data.replace(b"\r\n", b"\n")
    header, _, rest = data.partition(b"\n")
    if header != HEADER.encode():
        raise Unreadable(_wrong(header.decode("utf-8", "replace")))
    return {probe.name: probe for probe in _frames(rest, _FRAME)}


def parts(text: str) -> tuple[Probe, ...]:
    """The outputs framed inside a payload; what follows a broken frame is left out."""
    return tuple(_frames(_bytes(text), _PART))


def write(probes: Mapping[str, tuple[int, str]]) -> str:
    """The capture of these probes (exit code and payload by name); the inverse of `read`."""
    frames = [f"== {name} {code} 0 {len(_bytes(text))}\n{text}\n" for name, (code, text) in probes.items()]
    return f"{HEADER}\n{''.join(frames)}== {END} 0 0 0\n\n"


def write_parts(outputs: Mapping[str, tuple[int, str]]) -> str:
    """The payload of a probe with several outputs; the inverse of `parts`."""
    return "\n".join(f"-- {code} {len(_bytes(text))} {name}\n{text}" for name, (code, text) in outputs.items())


def _frames(data: bytes, header: bytes) -> Iterator[Probe]:
    """Each frame. Its payload has `size` bytes if a frame or the end follows, else it ends before the next frame."""
    frame, next_frame = re.compile(header), re.compile(rb"\n(?=" + header + rb")")
    frame_or_end = re.compile(rb"\n?\Z|\n" + header)
    at = 0
    while found := frame.match(data, at):
        start = found.end()
        stop = start + int(found["size"])
        if stop > len(data) or not frame_or_end.match(data, stop):
            following = next_frame.search(data, start - 1)
            stop = max(following.start(), start) if following else len(data)
        name, text = found["name"].decode("utf-8", "replace"), data[start:stop].decode("utf-8", "replace")
        yield Probe(name, int(found["exit"]), text, int(found.groupdict().get("ms", 0)))
        at = stop + 1


def _bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def _wrong(header: str) -> str:
    found = re.match(r"sparkops-facts (\d+)", header)
    if found:
        return f"the facts have format version {found[1]}; this sparkops reads version {VERSION}"
    return f"unexpected output: the first line is {header[:60]!r}, not {HEADER!r}"
