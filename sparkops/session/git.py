"""Read repositories with the operator's own git: nothing is checked out, and no hook, filter or submodule runs.

Only https and ssh are allowed. git may use the operator's credential helpers and SSH keys, but it asks no question.
"""

import contextlib
import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sparkops.core.catalogue import LARGEST_FILE
from sparkops.core.schema import one_line
from sparkops.errors import Unreachable, UsageError
from sparkops.session.child import child
from sparkops.session.program import end_with_all

SETTINGS = (
    *("core.hooksPath=/dev/null", "core.fsmonitor=false", "fetch.recurseSubmodules=false", "submodule.recurse=false"),
    *("gc.auto=0", "maintenance.auto=false", "http.lowSpeedLimit=1000", "http.lowSpeedTime=30"),
)
OURS = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "true",
    "SSH_ASKPASS_REQUIRE": "never",
    "GIT_ALLOW_PROTOCOL": "https:ssh",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
}
THEIRS = ("GIT_SSH", "GIT_SSL_", "GIT_CONFIG", "GIT_HTTP_", "GIT_PROXY_")
"""How variables of git begin that keep the operator's values; others, such as those of a hook, are left out."""

DEADLINE = 600.0
"""Seconds that one call of git may take."""

_NO_REF = re.compile(r"couldn't find remote ref|not our ref|no such ref|unadvertised object", re.IGNORECASE)
_FOLLOWS = re.compile(r"Could not read from remote|make sure you have the correct access|and the repository exists")
"""What git adds to each failure of ssh."""

_BLOB = re.compile(rb"(?P<mode>100644|100755) blob (?P<id>[0-9a-f]+)\t(?P<path>.+)", re.DOTALL)


@dataclass(frozen=True)
class Repository:
    """A repository on this machine; `prefix` is the directory in it that is meant."""

    path: Path
    prefix: str = ""

    def commit(self, ref: str) -> str | None:
        """The commit of a name in this repository; None if there is none."""
        code, out, _ = _run("-C", str(self.path), "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
        return None if code else out.decode().strip()

    def untracked(self) -> list[str]:
        """The files that are in no commit, without those that git ignores. Runs no filter, as `git status` would."""
        listed = _checked("-C", str(self.path), "ls-files", "--others", "--exclude-standard", "-z").split(b"\0")
        return [path.decode("utf-8", "surrogateescape") for path in listed if path]

    def files(self, commit: str) -> Iterator[tuple[str, bytes]]:
        """Path and content of each regular file that is not too large; no symbolic links, no submodules."""
        tree = f"{commit}:{self.prefix}" if self.prefix else commit
        listed = _checked("-C", str(self.path), "ls-tree", "-r", "-z", "--full-tree", tree).split(b"\0")
        found = [(row["id"].decode(), row["path"]) for one in listed if (row := _BLOB.fullmatch(one))]
        sizes = self._batch("--batch-check=%(objectname) %(objectsize)", [blob for blob, _ in found]).split(b"\n")
        known = {
            blob.decode(): int(size) for blob, _, size in (line.partition(b" ") for line in sizes) if size.isdigit()
        }
        wanted = [(blob, path) for blob, path in found if known.get(blob, LARGEST_FILE + 1) <= LARGEST_FILE]
        content, at = self._batch("--batch", [blob for blob, _ in wanted]), 0
        for blob, path in wanted:
            at = content.index(b"\n", at) + 1
            yield path.decode("utf-8", "surrogateescape"), content[at : at + known[blob]]
            at += known[blob] + 1

    def _batch(self, how: str, blobs: Sequence[str]) -> bytes:
        return _checked("-C", str(self.path), "cat-file", how, given="".join(f"{blob}\n" for blob in blobs).encode())


def here(directory: Path) -> Repository | None:
    """The repository whose work tree has this directory; None if it is a plain one. Raises UsageError."""
    code, out, said = _run("-C", str(directory), "rev-parse", "--is-inside-work-tree", "--show-prefix")
    if code and "not a git repository" not in said:
        raise UsageError(one_line(f"{directory}: {_reason(said)}"))
    inside, _, prefix = out.decode("utf-8", "surrogateescape").partition("\n")
    return Repository(directory, prefix.strip("\n").rstrip("/")) if code == 0 and inside == "true" else None


def commit_of(directory: Path) -> str:
    """The commit that the repository of this directory is at; empty without one, or if files differ from the commit."""
    repository = here(directory)
    if repository is None:
        return ""
    code, changed, _ = _run("-C", str(directory), "status", "--porcelain")
    return "" if code or changed.strip() else repository.commit("HEAD") or ""


@contextlib.contextmanager
def fetched(url: str, ref: str | None) -> Iterator[tuple[Repository, str]]:
    """One commit of a repository, in a directory that is removed at the end; raises UsageError and Unreachable."""
    with tempfile.TemporaryDirectory(prefix="sparkops-git-") as place:
        _checked("init", "--bare", "--quiet", "--template=", place)
        words = ("fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--", url, ref or "HEAD")
        code, _, said = _run("-C", place, *words)
        if code and _NO_REF.search(said):
            hint = "give a branch, a tag, or all 40 digits of a commit"
            raise UsageError(one_line(f"{url} has no {ref or 'commit'}"), hint=hint)
        if code:
            asks = f"for a private repository, `git ls-remote {shlex.quote(url)}` must not ask"
            hint = f"check the address and the network; {asks}"
            raise Unreachable(one_line(f"git cannot fetch {url}: {_reason(said)}"), hint=hint)
        repository = Repository(Path(place))
        if (commit := repository.commit("FETCH_HEAD")) is None:
            raise UsageError(one_line(f"{url}: {ref or 'HEAD'} is no commit"))
        yield repository, commit


def _checked(*words: str, given: bytes = b"") -> bytes:
    code, out, said = _run(*words, given=given)
    if code:
        raise UsageError(one_line(f"git failed: {_reason(said)}"))
    return out


def _run(*words: str, given: bytes = b"") -> tuple[int, bytes, str]:
    """Exit code, stdout and stderr. git gets no terminal, so neither it nor ssh can ask."""
    settings = [word for setting in SETTINGS for word in ("-c", setting)]
    own = {name: text for name, text in os.environ.items() if not name.startswith("GIT_") or name.startswith(THEIRS)}
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    try:
        with child(
            ["git", *settings, *words], end_with_all, env={**own, **OURS}, start_new_session=os.name == "posix", **pipes
        ) as process:
            out, said = process.communicate(given, timeout=DEADLINE)
    except subprocess.TimeoutExpired:
        raise Unreachable(f"git did not end within {DEADLINE / 60:.0f} minutes") from None
    except OSError as error:
        what = "is not installed" if isinstance(error, FileNotFoundError) else (error.strerror or "cannot run").lower()
        hint = "install git on this machine; or copy the recipes here, and name their files"
        raise UsageError(f"git {what}", hint=hint) from None
    return process.returncode, out, said.decode("utf-8", "replace")


def _reason(said: str) -> str:
    """The line of git's messages that names the cause; ssh tells it before git says that it could not read."""
    lines = [line.strip() for line in said.splitlines() if line.strip() and not _FOLLOWS.search(line)]
    told = [line for line in lines if line.startswith(("fatal:", "error:", "ssh:"))] or lines[-1:]
    first = next(iter(told), "it could not read from the repository")
    return first.removeprefix("fatal: ").removeprefix("error: ")[:300]
