"""The model hub over HTTP, by curl, which handles proxies, redirects, certificates and resumed downloads.

A token travels on curl's stdin, never in a command line, and curl drops it when another host is redirected to.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
import time
import urllib.parse
from typing import Any

from sparkops.node.modelcache import CacheFile, CacheTrouble, length_of, remove

TRIES = 5
NAP = float(os.environ.get("SPARKOPS_RETRY_SECONDS", "1"))
FULL = 23
NO_RANGE = 33
TOKEN = "`sparkops model fetch {} --token-stdin`, or `hf auth login` on the node"
CERTIFICATE = (35, 58, 60, 77)
MALFORMED = (1, 3, 43)


class HubAnswer:
    """The end of one transfer: curl's exit code, the last status, its headers, curl's message."""

    def __init__(self, code: int, said: str, headers: str) -> None:
        blocks = re.split(r"\r?\n\r?\n", headers.strip())
        lines = blocks[-1].splitlines()
        self.code, self.said = code, said.strip()
        self.status = int(lines[0].split()[1]) if lines and lines[0].startswith("HTTP/") else 0
        pairs = (line.partition(":") for line in headers.splitlines())
        self.headers = {key.strip().lower(): value.strip() for key, _, value in pairs}

    @property
    def ok(self) -> bool:
        return self.code == 0 and self.status in (200, 206)

    @property
    def final(self) -> bool:
        """Whether asking again cannot help."""
        gone = 400 <= self.status < 500 and self.status not in (408, 416, 425, 429)
        return self.code in (*CERTIFICATE, *MALFORMED) or (self.code in (0, 22) and gone)

    @property
    def words(self) -> str:
        return f"HTTP {self.status}" if self.code in (0, 22) and self.status else self.said or f"curl exit {self.code}"


class Hub:
    """An endpoint with a token or without."""

    def __init__(self, ask: dict[str, Any]) -> None:
        own = os.environ.get("HF_ENDPOINT")
        self.endpoint = (ask.get("endpoint") or own or "https://huggingface.co").rstrip("/")
        self.token: str = ask.get("token") or os.environ.get("HF_TOKEN") or _token_kept_here()
        for name, value in ask.get("proxies", {}).items():
            if name.lower() not in os.environ and name.upper() not in os.environ:
                os.environ[name] = value

    def curl(self, url: str, *options: str, token: bool = True) -> HubAnswer:
        config = f'header = "Authorization: Bearer {self.token}"\n' if token and self.token else ""
        with tempfile.NamedTemporaryFile("r", encoding="latin-1") as headers:
            words = ["curl", "-sSLf", "-A", "sparkops", "-K", "-", "-D", headers.name, "--connect-timeout", "30"]
            words += ["--speed-limit", "1", "--speed-time", "60", *options, "--", url]
            done = subprocess.run(words, input=config, capture_output=True, text=True, check=False)
            return HubAnswer(done.returncode, done.stderr.removeprefix("curl: "), headers.read())

    def curl_again(self, url: str, *options: str, token: bool = True) -> HubAnswer:
        """The first good answer, else the last; up to TRIES times, unless asking again cannot help."""
        for turn in range(TRIES):
            answer = self.curl(url, *options, token=token)
            if answer.ok or answer.final:
                break
            time.sleep(NAP * 2**turn)
        return answer

    def json(self, url: str, model: str, revision: str) -> Any:
        with tempfile.NamedTemporaryFile("r", encoding="utf-8") as body:
            answer = self.curl_again(url, "-o", body.name, "-m", "120")
            if not answer.ok:
                raise self.refusal(answer, model, revision)
            try:
                return json.load(body)
            except ValueError:
                raise CacheTrouble(f"{self.endpoint} does not answer like a model hub: it sent no JSON") from None

    def listing(self, model: str, revision: str) -> tuple[str, list[CacheFile]]:
        """The current commit of a revision, and its files."""
        name = urllib.parse.quote(revision, safe="")
        found = self.json(f"{self.endpoint}/api/models/{model}/revision/{name}?blobs=true", model, revision)
        commit = str(found.get("sha", ""))
        if not re.fullmatch("[0-9a-f]{40}", commit):
            raise CacheTrouble(f"{self.endpoint} sent no commit hash for {model}@{revision}")
        return commit, [self.file(model, commit, one) for one in found.get("siblings", ())]

    def file(self, model: str, commit: str, one: dict[str, Any]) -> CacheFile:
        """A file from the listing; hash and size from its headers if a mirror leaves them out."""
        path, large = one["rfilename"], one.get("lfs") or {}
        blob, length = large.get("sha256") or one.get("blobId"), large.get("size", one.get("size"))
        if not blob or length is None:
            about = self.curl(self.url(model, commit, path), "-I", "--max-redirs", "0")
            blob = about.headers.get("x-linked-etag") or about.headers.get("etag", "")
            blob = blob.removeprefix("W/").strip('"')
            length = about.headers.get("x-linked-size") or about.headers.get("content-length")
        return CacheFile(path, blob, int(length or 0))

    def fetch_small(self, url: str, path: str) -> None:
        """Download a public file of another host, without the hub's token; raises CacheTrouble."""
        answer = self.curl_again(url, "-o", path, "-m", "300", token=False)
        if not answer.ok:
            remove(path)
            raise CacheTrouble(f"{url}: {answer.words}", "set $SPARKOPS_ENCODINGS to a mirror of these files")

    def url(self, model: str, commit: str, path: str) -> str:
        return f"{self.endpoint}/{model}/resolve/{commit}/{urllib.parse.quote(path)}"

    def download(self, url: str, part: str, length: int, model: str) -> None:
        """Download the file into `part`, from its end on; retry until TRIES times in a row nothing arrives."""
        turn = 0
        while length_of(part) != length or not os.path.exists(part):
            before = length_of(part)
            if before > length:
                remove(part)
                continue
            answer = self.curl(url, "-o", part, "-C", "-" if before else "0")
            if answer.code == FULL:
                raise OSError(28, "no space left", part)
            if answer.code == NO_RANGE or answer.status == 416:
                remove(part)
            if answer.final:
                raise self.refusal(answer, model, "")
            turn = 0 if length_of(part) > before else turn + 1
            if turn == TRIES:
                raise CacheTrouble(f"{url}: {answer.words}; no new data after {TRIES} tries", "run the command again")
            if not answer.ok:
                time.sleep(NAP * 2**turn)

    def refusal(self, answer: HubAnswer, model: str, revision: str) -> CacheTrouble:
        """The error for a failed answer, with a hint about licence, token or name."""
        page, kind = f"{self.endpoint}/{model}", answer.headers.get("x-error-code", "")
        told, give = answer.headers.get("x-error-message", f"HTTP {answer.status}"), TOKEN.format(model)
        if answer.status in (401, 403) and kind == "GatedRepo":
            return _gated(model, page, bool(self.token))
        if kind == "RevisionNotFound":
            return CacheTrouble(f"{model} has no revision {revision}", f"all revisions: {page}/commits/main")
        if answer.status == 401 and self.token and "invalid" in told.lower():
            return CacheTrouble(f"{self.endpoint} does not know this token", "give a valid token: " + give)
        if answer.status in (401, 404):
            private = "" if self.token else f"; if the model is private, give a token: {give}"
            return CacheTrouble(f"{self.endpoint} has no model {model}", f"check the name: {page}{private}")
        if answer.status == 403:
            return CacheTrouble(f"{page}: {told}", f"give a token that may read this model: {give}")
        return CacheTrouble(f"{self.endpoint} cannot be reached: {answer.words}", _how_to_reach())


def _gated(model: str, page: str, token: bool) -> CacheTrouble:
    if token:
        told = f"{model} is gated, and this token's account has no access to it"
        return CacheTrouble(told, f"accept the licence at {page}, or wait until the owner of the model gives access")
    told = f"{model} is gated: you must accept its licence on Hugging Face, and use a token of that account"
    return CacheTrouble(told, f"accept the licence at {page}, then give your token: {TOKEN.format(model)}")


def _how_to_reach() -> str:
    proxy = next((os.environ[name] for name in ("https_proxy", "HTTPS_PROXY") if os.environ.get(name)), "")
    through = f"the request used the proxy {re.sub('//.*@', '//***@', proxy)}; " if proxy else ""
    mirror = "set $HF_ENDPOINT to use a mirror, or $https_proxy to use a proxy"
    return f"{through}{mirror}; if a node has the whole model: --offline; downloaded data is not lost"


def _token_kept_here() -> str:
    """Where `hf auth login` puts it."""
    home = os.environ.get("HF_HOME") or os.path.expanduser("~/.cache/huggingface")
    for path in (os.environ.get("HF_TOKEN_PATH"), os.path.join(home, "token")):
        if path and os.path.isfile(path):
            with open(path, encoding="utf-8") as stream:
                return stream.read().strip()
    return ""
