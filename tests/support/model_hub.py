"""A model hub: the listing with hashes, files by range behind a redirect, refusals as the real one words them."""

import hashlib
import json
import re
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

LARGE = 1000
"""From this size on a file is kept by its sha256, as LFS does; below by git's hash."""
TOKEN = "hf_of_a_person_who_accepted_it"
STRANGER = "hf_of_a_person_who_did_not"


def blob_of(content: bytes) -> str:
    if len(content) >= LARGE:
        return hashlib.sha256(content).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@dataclass
class StandInHub:
    """`models` is model -> revision name -> (commit, path -> content). The rest makes it misbehave."""

    models: dict[str, dict[str, tuple[str, dict[str, bytes]]]] = field(default_factory=dict)
    gated: set[str] = field(default_factory=set)
    private: set[str] = field(default_factory=set)
    tampered: dict[str, bytes] = field(default_factory=dict)
    drop_after: int = 0
    drops: int = 0
    held: bool = False
    """Large files stop in the middle until this is off."""

    plain_listing: bool = False
    no_ranges: bool = False
    seen: list[tuple[str, str]] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    asked: list[tuple[str, int]] = field(default_factory=list)
    """Blob and first byte of each request for a large file."""

    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, model: str, commit: str, files: dict[str, bytes], name: str = "main") -> None:
        self.models.setdefault(model, {})[name] = (commit, files)

    def find(self, model: str, revision: str) -> tuple[str, dict[str, bytes]] | None:
        named = self.models.get(model, {})
        return named.get(revision) or next((one for one in named.values() if one[0] == revision), None)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: StandInHub

    def log_message(self, *_: Any) -> None:
        return

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        with self.hub.lock:
            self.hub.seen.append((self.command, path))
            self.hub.tokens.append(token)
        if listing := re.fullmatch(r"/api/models/(.+)/revision/(.+)", path):
            return self.listing(listing[1], listing[2], token)
        if file := re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
            return self.resolve(file[1], file[2], file[3], token)
        if stored := re.fullmatch(r"/stored/([0-9a-f]+)", path):
            return self.stored(stored[1])
        return self.refuse(404, "EntryNotFound", "Entry not found")

    def listing(self, model: str, revision: str, token: str) -> None:
        if model not in self.hub.models or (model in self.hub.private and token != TOKEN):
            return self.refuse(401, "RepoNotFound", "Repository not found")
        found = self.hub.find(model, revision)
        if found is None:
            return self.refuse(404, "RevisionNotFound", "Invalid rev id: " + revision)
        commit, files = found
        listing = {"id": model, "sha": commit, "siblings": list(self.siblings(files))}
        return self.answer(200, json.dumps(listing).encode())

    def siblings(self, files: dict[str, bytes]) -> Any:
        for path, content in files.items():
            one: dict[str, Any] = {"rfilename": path}
            if not self.hub.plain_listing:
                one |= {"size": len(content), "blobId": hashlib.sha1(path.encode()).hexdigest()}
                if len(content) >= LARGE:
                    one["lfs"] = {"sha256": blob_of(content), "size": len(content), "pointerSize": 134}
                else:
                    one["blobId"] = blob_of(content)
            yield one

    def resolve(self, model: str, revision: str, path: str, token: str) -> None:
        if model in self.hub.gated and token != TOKEN:
            message = f"Access to model {model} is restricted."
            return self.refuse(403 if token else 401, "GatedRepo", message)
        found = self.hub.find(model, revision)
        content = found[1].get(path) if found else None
        if content is None:
            return self.refuse(404, "EntryNotFound", "Entry not found")
        about = {"X-Repo-Commit": found[0] if found else ""}
        if len(content) < LARGE:
            return self.answer(200, content, {**about, "ETag": f'"{blob_of(content)}"'})
        about |= {"X-Linked-Etag": f'"{blob_of(content)}"', "X-Linked-Size": str(len(content))}
        return self.answer(302, b"", {**about, "Location": f"/stored/{blob_of(content)}"})

    def stored(self, blob: str) -> None:
        contents = [c for named in self.hub.models.values() for _, files in named.values() for c in files.values()]
        content = next(c for c in contents if blob_of(c) == blob)
        content = self.hub.tampered.get(blob, content)
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        start = int(wanted[1]) if wanted and not self.hub.no_ranges else 0
        if start and start >= len(content):
            return self.refuse(416, "", "range")
        with self.hub.lock:
            self.hub.asked.append((blob, start))
            drops = self.hub.drops > 0 and len(content) - start > self.hub.drop_after
            self.hub.drops -= drops
        about = {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"} if start else {}
        return self.answer(206 if start else 200, content[start:], about, cut=self.hub.drop_after if drops else None)

    def refuse(self, status: int, kind: str, message: str) -> None:
        self.answer(status, json.dumps({"error": message}).encode(), {"X-Error-Code": kind, "X-Error-Message": message})

    def answer(self, status: int, body: bytes, headers: dict[str, str] | None = None, cut: int | None = None) -> None:
        self.send_response(status)
        for key, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        for at in range(0, len(body) if cut is None else cut, 65536):
            piece = body[at : min(at + 65536, len(body) if cut is None else cut)]
            self.wfile.write(piece)
            while self.hub.held and at >= len(body) // 3 and len(body) > LARGE:
                time.sleep(0.02)
        if cut is not None:
            self.close_connection = True
            self.connection.close()


class Quiet(ThreadingHTTPServer):
    """A client that goes away in the middle is what the tests are about."""

    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        return


def serve(hub: StandInHub, address: str = "127.0.0.1") -> Quiet:
    handler = type("HubHandler", (Handler,), {"hub": hub})
    server = Quiet((address, 0), handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    return server
