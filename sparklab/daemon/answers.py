"""Answers for the programs that a node is asked all the time: their stubs ask here, and no Python starts.

A request is the token, the node, the number of words and the words, each ended by a NUL. The answer is one line and its
bytes for each piece, `1 LENGTH` or `2 LENGTH` by the stream, and `end CODE`. Where the program succeeds and writes to
stdout only, it is `all` and the bytes. `no` leaves it to the program itself.
"""

import asyncio
import contextlib
import importlib
import secrets
from itertools import groupby
from pathlib import Path

from sparklab.daemon import modelhub
from sparklab.layout import Node
from sparklab.tools.answer import Answer, answer
from sparklab.tools.registry import ASKED, TOOLS

PORT = 8881
PIECES = 20
"""More are left to the program: the stub starts a process for each."""
LONGEST_WORD = 2**20
WAITING = 2000
"""Connections at once: hundreds of nodes ask several questions each."""
NO = b"no\n"


class Answers:
    """Answers requests that carry the token, because `docker inspect` shows secrets of containers."""

    def __init__(self, nodes: Path, octet: int) -> None:
        self._nodes = nodes
        self._address = modelhub.address(octet)
        self._token = secrets.token_hex(16)
        self.where = f"{self._address}/{PORT}/{self._token}"

    async def serve(self) -> asyncio.Server:
        return await asyncio.start_server(self._client, self._address, PORT, limit=LONGEST_WORD, backlog=WAITING)

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            token, node, count = [await _word(reader) for _ in range(3)]
            if secrets.compare_digest(token.encode(), self._token.encode()):
                program, *words = [await _word(reader) for _ in range(int(count))]
                writer.write(self._told(Path(node).name, program, words))
        writer.close()

    def _told(self, node: str, program: str, words: list[str]) -> bytes:
        asked = Node(self._nodes / node)
        try:
            at_once = getattr(importlib.import_module(TOOLS[program]), "at_once", lambda *_: True)
            return _framed(answer(asked, program, words)) if program in ASKED and at_once(asked, words) else NO
        except Exception:  # the program itself will report the error
            return NO


async def _word(reader: asyncio.StreamReader) -> str:
    return (await reader.readuntil(b"\0"))[:-1].decode("utf-8", "surrogateescape")


def _framed(told: Answer) -> bytes:
    """Encode an answer; neighbouring texts on one stream become one piece."""
    pieces = [
        (stream, "".join(text for _, text in group).encode("utf-8", "surrogateescape"))
        for stream, group in groupby(told.pieces, key=lambda piece: piece[0])
    ]
    if len(pieces) > PIECES:
        return NO
    if not told.code and [stream for stream, _ in pieces] == [1]:
        return b"all\n" + pieces[0][1]
    return b"".join(b"%d %d\n%s" % (stream, len(data), data) for stream, data in pieces) + b"end %d\n" % told.code
