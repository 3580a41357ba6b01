"""Commands for the nodes' model caches; long work runs as a background job."""

from collections.abc import Iterable
from dataclasses import dataclass

from sparkops.core.model_name import ModelName
from sparkops.core.plan import Command, Script, Word
from sparkops.node_commands.images import started

FETCH_SECONDS = 48 * 3600
VERIFY_SECONDS = 6 * 3600


@dataclass(frozen=True)
class Fetch:
    """What to download. `vocabulary` is the nodes' directory for the files of gpt-oss' tokenizer."""

    name: ModelName
    exclude: tuple[str, ...] = ()
    offline: bool = False
    vocabulary: str | None = None

    @property
    def job(self) -> str:
        return self.name.job("fetch")


def fetch(want: Fetch, cache: str | None, ask: str | None) -> Command:
    words: tuple[Word, ...] = (Script("model"), "fetch", str(want.name), *_options(cache, want.vocabulary))
    words += ("--ask", ask) if ask else ()
    words += ("--offline",) if want.offline else ()
    for glob in want.exclude:
        words += ("--exclude", glob)
    return started(want.job, FETCH_SECONDS, words)


def verify(name: ModelName, cache: str | None) -> Command:
    return started(name.job("verify"), VERIFY_SECONDS, (Script("model"), "verify", str(name), *_cache(cache)))


def has(name: ModelName, cache: str | None, folder: str | None) -> Command:
    """What a copy must hold. For a directory it computes all hashes, which takes long."""
    return Command((Script("model"), "has", str(name), *_options(cache, folder)), reads=True, timeout=3600.0)


def lacks(job: str, name: ModelName, cache: str | None, manifest: str, folder: str | None) -> Command:
    return started(job, VERIFY_SECONDS, (Script("model"), "lacks", str(name), manifest, *_options(cache, folder)))


def give(name: ModelName, cache: str | None, only: Iterable[str], folder: str | None) -> tuple[Word, ...]:
    return (Script("model"), "send", str(name), "--only", ",".join(only), *_options(cache, folder))


def take(name: ModelName, cache: str | None, manifest: str, folder: str | None) -> tuple[Word, ...]:
    return (Script("model"), "take", str(name), manifest, *_options(cache, folder))


def words(folder: str) -> Command:
    return Command((Script("model"), "words", "--vocabulary", folder), reads=True)


def listing(cache: str | None) -> Command:
    return Command((Script("model"), "list", *_cache(cache)), reads=True, timeout=60.0)


def prune(cache: str | None, *names: str) -> Command:
    return Command((Script("model"), "prune", *names, *_cache(cache)), timeout=600.0)


def _options(cache: str | None, folder: str | None) -> tuple[str, ...]:
    return (*_cache(cache), *(("--vocabulary", folder) if folder else ()))


def _cache(cache: str | None) -> tuple[str, ...]:
    return ("--cache", cache) if cache else ()
