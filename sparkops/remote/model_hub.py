"""The model hub as this machine reaches it: the list of a model's files, and the small ones that describe it."""

import http.client
import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from sparkops.core.hub_access import Access
from sparkops.core.model_name import ModelName
from sparkops.core.model_snapshot import TEXTS, ModelSnapshot
from sparkops.core.schema import one_line
from sparkops.errors import Unreachable, UsageError

HUB = "https://huggingface.co"
LARGEST_LIST, LARGEST_FILE = 32_000_000, 16_000_000
"""Bytes of an answer; a model of a thousand files has a list of 300 kB."""

SILENT_SECONDS, MOST_SECONDS = 20, 120
"""How long the hub may say nothing, and how long one answer may take."""

_COMMIT = re.compile("[0-9a-f]{40}")
_OFFLINE = "without internet, name a directory with the model's files: --from DIR; for a mirror, set $HF_ENDPOINT"


class _KeepToken(urllib.request.HTTPRedirectHandler):
    """Follows a redirect with the token only on the same host."""

    def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: Any) -> Any:
        new = super().redirect_request(req, fp, code, msg, headers, newurl)
        token = req.unredirected_hdrs.get("Authorization")
        if new is not None and token and urlsplit(newurl)[:2] == urlsplit(req.full_url)[:2]:
            new.add_unredirected_header("Authorization", token)
        return new


class ModelHub:
    """An endpoint of the hub's API; raises UsageError for what a person must correct, else Unreachable."""

    def __init__(self, access: Access) -> None:
        self.endpoint = (access.endpoint or HUB).rstrip("/")
        self._token = access.token
        self._proxy = access.proxies.get(f"{urlsplit(self.endpoint).scheme}_proxy")
        self._opener = urllib.request.build_opener(_KeepToken())
        if urlsplit(self.endpoint).scheme not in ("http", "https") or not urlsplit(self.endpoint).hostname:
            raise UsageError(one_line(f"$HF_ENDPOINT is no address of a hub: {self.endpoint}"), hint=f"such as {HUB}")

    def snapshot(self, name: ModelName) -> ModelSnapshot:
        """A revision of a model, without its weights."""
        revision = quote(name.revision or "main", safe="")
        listed = self._list(name, f"{self.endpoint}/api/models/{name.model}/revision/{revision}?blobs=true")
        commit, files = listed.get("sha"), _sizes(listed.get("siblings"))
        if not isinstance(commit, str) or not _COMMIT.fullmatch(commit):
            raise self._strange(name)
        page = f"{self.endpoint}/{name.model}"
        wanted = [text for text in TEXTS if text in files]
        texts = {text: self._get(name, f"{page}/resolve/{commit}/{text}", LARGEST_FILE) for text in wanted}
        return ModelSnapshot(name.model, self.endpoint, commit, files, texts, name.revision)

    def _list(self, name: ModelName, url: str) -> Mapping[str, Any]:
        try:
            found = json.loads(self._get(name, url, LARGEST_LIST))
        except (ValueError, RecursionError):
            raise self._strange(name) from None
        if not isinstance(found, dict):
            raise self._strange(name)
        return found

    def _get(self, name: ModelName, url: str, most: int) -> str:
        request = urllib.request.Request(url, headers={"User-Agent": "sparkops"})
        if self._token:
            request.add_unredirected_header("Authorization", f"Bearer {self._token}")
        try:
            with self._opener.open(request, timeout=SILENT_SECONDS) as answer:
                return self._read(answer, most)
        except urllib.error.HTTPError as error:
            with error:
                raise self._refusal(error, name) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = getattr(error, "reason", error)
            said = getattr(reason, "strerror", None) or reason or type(error).__name__
            through = " through this machine's proxy" * bool(self._proxy)
            told = one_line(f"the model hub {self.endpoint} cannot be reached{through}: {said}")
            raise Unreachable(told, hint=_OFFLINE) from None

    def _read(self, answer: Any, most: int) -> str:
        parts, size, until = [], 0, time.monotonic() + MOST_SECONDS
        while part := answer.read1(65536):
            parts.append(part)
            size += len(part)
            if size > most:
                raise OSError(f"its answer is larger than {most // 1_000_000} MB")
            if time.monotonic() > until:
                raise OSError(f"its answer takes longer than {MOST_SECONDS} s")
        return b"".join(parts).decode("utf-8", "replace")

    def _strange(self, name: ModelName) -> UsageError:
        return UsageError(
            f"{self.endpoint} does not answer like a model hub when asked for {name.model}",
            hint="check $HF_ENDPOINT and the proxy of this machine",
        )

    def _refusal(self, error: urllib.error.HTTPError, name: ModelName) -> UsageError | Unreachable:
        """The error for an answer that is no success, with its next step."""
        page, kind = f"{self.endpoint}/{name.model}", error.headers.get("X-Error-Code", "")
        if kind == "GatedRepo" or (error.code == 403 and self._token):
            have = "this token's account has no access to it" if self._token else "you must accept its licence"
            token = "use a token with access" if self._token else "set $HF_TOKEN to a token of your account"
            return UsageError(f"{name.model} is gated: {have}", hint=f"accept the licence at {page}, then {token}")
        if kind == "RevisionNotFound":
            return UsageError(f"{name.model} has no revision {name.revision}", hint=f"revisions: {page}/commits/main")
        if error.code in (401, 403, 404):
            private = "is $HF_TOKEN right?" if self._token else "if it is private, set $HF_TOKEN"
            if "/" not in name.model:
                return UsageError(f"{self.endpoint} has no model {name.model}", hint="name it as ORG/NAME")
            return UsageError(f"{self.endpoint} has no model {name.model}", hint=f"check the name: {page}; {private}")
        return Unreachable(f"the model hub {self.endpoint} answers HTTP {error.code}", hint=f"try again; {_OFFLINE}")


def _sizes(listed: Any) -> dict[str, int]:
    """The size of each file; a mirror may leave sizes out."""
    found: dict[str, int] = {}
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, dict) and isinstance(name := one.get("rfilename"), str):
            large = one.get("lfs")
            size = large.get("size") if isinstance(large, dict) else one.get("size")
            found[name] = size if isinstance(size, int) and size >= 0 else 0
    return found
