"""The lab's model hub: the listing, the files and the refusals of the real one, on an address of the lab.

Files of many GiB are sent as their head and a header that says how long they are: the lab's `curl` makes the hole.
"""

import asyncio
import contextlib
import json
import re
from functools import cache
from http import HTTPStatus
from urllib.parse import unquote

from sparklab.tree import models, vocabulary
from sparklab.tree.models import MODELS, TOKEN, File

PORT = 8880
LENGTH = "X-Sparklab-Length"


def address(octet: int) -> str:
    return f"127.{octet}.254.254"


def url(octet: int) -> str:
    return f"http://{address(octet)}:{PORT}"


class Answer(Exception):
    """The response to a request; raised where a request is refused."""

    def __init__(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        super().__init__(status)
        self.status, self.body, self.headers = status, body, headers or {}


def refusal(status: int, kind: str, message: str) -> Answer:
    return Answer(status, json.dumps({"error": message}).encode(), {"X-Error-Code": kind, "X-Error-Message": message})


async def serve(octet: int) -> asyncio.Server:
    return await asyncio.start_server(_client, address(octet), PORT)


async def _client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").splitlines()
        verb, path, _ = lines[0].split(" ", 2)
        headers = {key.lower(): value.strip() for key, _, value in (line.partition(":") for line in lines[1:])}
        try:
            answer = _answer(unquote(path.partition("?")[0]), headers.get("authorization", "").removeprefix("Bearer "))
        except Answer as refused:
            answer = refused
        fields = {"Content-Length": str(len(answer.body)), "Connection": "close", **answer.headers}
        head = "".join(f"{key}: {value}\r\n" for key, value in fields.items())
        writer.write(f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}\r\n{head}\r\n".encode())
        writer.write(b"" if verb == "HEAD" else answer.body)
        await writer.drain()
    writer.close()


def _answer(path: str, token: str) -> Answer:
    if listing := re.fullmatch(r"/api/models/([^/]+/[^/]+)/revision/(.+)", path):
        return _listing(listing[1], listing[2])
    if file := re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
        return _file(file[1], file[2], file[3], token)
    if path.startswith("/encodings/") and (text := vocabulary.FILES.get(path.removeprefix("/encodings/"))):
        return Answer(200, text)
    raise refusal(404, "EntryNotFound", "Entry not found")


def _listing(name: str, revision: str) -> Answer:
    model = _model(name, revision)
    siblings = [
        {
            "rfilename": file.path,
            "size": file.length,
            "blobId": file.blob[:40],
            **({"lfs": {"sha256": file.blob, "size": file.length, "pointerSize": 135}} if file.large else {}),
        }
        for file in _files(name).values()
    ]
    return Answer(200, json.dumps({"id": name, "sha": model.revision, "siblings": siblings}).encode())


def _file(name: str, revision: str, path: str, token: str) -> Answer:
    model = _model(name, revision)
    if model.gated and token != TOKEN:
        raise refusal(403 if token else 401, "GatedRepo", f"Access to model {name} is restricted.")
    if path not in _files(name):
        raise refusal(404, "EntryNotFound", "Entry not found")
    file = _files(name)[path]
    about = {"X-Repo-Commit": model.revision, "ETag": f'"{file.blob}"'}
    return Answer(200, file.head, {**about, LENGTH: str(file.length)} if file.large else about)


def _model(name: str, revision: str) -> models.Model:
    if name not in MODELS:
        raise refusal(401, "RepoNotFound", "Repository not found")
    if revision not in ("main", MODELS[name].revision):
        raise refusal(404, "RevisionNotFound", f"Invalid rev id: {revision}")
    return MODELS[name]


@cache
def _files(name: str) -> dict[str, File]:
    model = MODELS[name]
    return {file.path: file for file in (*models.files(name, model), *models.beside(name, model))}
