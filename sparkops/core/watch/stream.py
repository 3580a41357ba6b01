"""From the bytes of a node's stream to whole frames. A node may send anything, so each length is bounded."""

import re
from collections.abc import Iterator

from sparkops.core.facts.raw import END, HEADER

LONGEST = 512 * 1024
"""Bytes of a frame. A node with eight engines that boot sends 150 KiB."""

_HEADER = f"{HEADER}\n".encode()
_PROBE = re.compile(rb"== ([a-z0-9-]{1,40}) \d{1,5} \d{1,12} (\d{1,7})\n")
_LONGEST_LINE = 80


class BrokenStream(ValueError):
    """What the node sent is no stream of frames."""


class Frames:
    """Splits one stream. Raises BrokenStream for what follows no rule, and for a frame longer than LONGEST."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._at = 0
        """Where the next probe of the first frame begins; 0 before its header."""

    def take(self, data: bytes) -> Iterator[str]:
        """The frames that these bytes complete."""
        self._data += data
        while self._whole():
            text = self._data[: self._at].decode("utf-8", "replace")
            del self._data[: self._at]
            self._at = 0
            yield text
        if len(self._data) > LONGEST:
            raise BrokenStream(f"a frame of more than {LONGEST // 1024} KiB")

    def _whole(self) -> bool:
        """Walk to the end of the first frame, as far as it is here."""
        if self._at == 0:
            if not _HEADER.startswith(self._data[: len(_HEADER)]):
                raise BrokenStream(f"unexpected output: {bytes(self._data[:60])!r}")
            if len(self._data) < len(_HEADER):
                return False
            self._at = len(_HEADER)
        while found := _PROBE.match(self._data, self._at):
            end = found.end() + int(found[2]) + 1
            if end > len(self._data):
                return False
            self._at = end
            if found[1] == END.encode():
                return True
        if len(self._data) - self._at > _LONGEST_LINE:
            raise BrokenStream(f"unexpected output: {bytes(self._data[self._at : self._at + 60])!r}")
        return False
