"""What a benchmark measures: a deployment with its known setup, or a URL whose setup is unknown."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sparkops.core.bench.samples import Sample
from sparkops.core.condition import REPLACE_SECONDS, serving_probe
from sparkops.core.endpoints import api_url
from sparkops.core.facts import Facts
from sparkops.core.facts.models import Model
from sparkops.core.plan import Command, Result
from sparkops.errors import Refused, UsageError
from sparkops.files import bench_records
from sparkops.node_commands import caches, scripts
from sparkops.node_commands.benchy import BenchTarget, Snapshot
from sparkops.phases import parts
from sparkops.phases.parts import DeployedRevision
from sparkops.session import llama_benchy
from sparkops.session.api_key import read_key
from sparkops.session.find_deployment import called, current, find_deployment, front_of
from sparkops.session.llama_benchy import BenchyEnded, Told, Words
from sparkops.session.reachability import requests_running
from sparkops.session.session import Session
from sparkops.verbs.bench import on_node
from sparkops.verbs.bench.options import BenchOptions
from sparkops.verbs.bench.watch import watched
from sparkops.verbs.recipe.recipe_lock import running


@dataclass(frozen=True)
class Subject:
    """`measure` runs llama-benchy, `watch` samples the nodes during the run, `verify` returns problems after it.

    `node` is named in progress lines: the node that answers, or the host of a URL. `context` is `--max-model-len`.
    `lab`: the nodes are emulated.
    """

    target: BenchTarget
    label: str
    node: str
    measure: Callable[[Words, Told], BenchyEnded]
    lock: Mapping[str, Any] | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    context: int | None = None
    lab: bool = False
    watch: Callable[[list[Sample]], AbstractContextManager[None]] = lambda into: nullcontext()
    verify: Callable[[], list[str]] = lambda: []


def of_url(options: BenchOptions) -> Subject:
    """Return an endpoint given by `--url`; it needs `--model` and `--tokenizer`."""
    url = (options.url or "").rstrip("/")
    if not _sound(url):
        raise UsageError(f"--url {options.url}: must be like http://HOST:PORT", hint="--url http://10.0.0.11:8000")
    if not options.model or not options.tokenizer:
        raise UsageError(
            "--url needs --model and --tokenizer", hint="--tokenizer takes a model's directory or a tokenizer.json"
        )
    whole = url if url.endswith("/v1") else f"{url}/v1"
    target = BenchTarget(whole, options.model, _here(options.tokenizer))
    return Subject(target, url, urlsplit(url).netloc or url, _from_here(options, options.api_key or ""))


def _from_here(options: BenchOptions, key: str) -> Callable[[Words, Told], BenchyEnded]:
    book = _here(options.book) if options.book else None
    return lambda words, told: llama_benchy.tool().measure(words, key, book, told)


def _sound(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number
        return False


def _here(path: str) -> str:
    """Return an absolute path: llama-benchy would look up any other on the internet."""
    return str(Path(path).absolute())


def of_deployment(options: BenchOptions, session: Session) -> Subject:
    """Return the deployment that serves, after dropping the page caches as a deploy does."""
    lock = running(session, options.deployment)
    facts = session.containers()
    revision = find_deployment(session, facts, options.deployment)
    engines = [member.name for member in revision.stored.engines]
    session.require(engines)
    typed = called(session, revision.stored, current(facts, session.names))
    if silent := next(_unanswered(session, facts, revision), None):
        raise Refused(f"{revision.title} does not serve: {silent}", hint=f"see why: `sparkops status {typed}`")
    _refuse_others(revision)
    key = read_key(session, facts, revision)
    session.report.hide(key)
    _drop_caches(session, engines)
    target, measure, versions = _tool(options, session, revision, key)
    return Subject(
        target,
        revision.stored.topology,
        options.on or front_of(revision).name,
        measure,
        lock.document,
        versions,
        _context(revision),
        any(facts[name].emulated for name in engines),
        watch=lambda into: watched(session, engines, into),
        verify=lambda: _wrong(session, facts, revision),
    )


def _context(revision: DeployedRevision) -> int | None:
    """The most tokens of a prompt with its answer; None if the flags do not say it as a number."""
    length = revision.stored.data.get("args", {}).get("max-model-len")
    return length if isinstance(length, int) and length > 0 else None


def _tool(
    options: BenchOptions, session: Session, revision: DeployedRevision, key: str
) -> tuple[BenchTarget, Callable[[Words, Told], BenchyEnded], Mapping[str, str]]:
    """Return target, measure function and versions of llama-benchy here or in a container on a node."""
    url, model = f"{api_url(front_of(revision))}/v1", revision.stored.served
    if options.on is not None:
        tool = on_node.of(options, session, snapshot(session, revision, options.on), key)
        return BenchTarget(url, model, tool.tokenizer), tool.measure, {"llama-benchy image": tool.image}
    tokenizer = _here(options.tokenizer) if options.tokenizer else _tokenizer(session, revision)
    return BenchTarget(url, model, tokenizer), _from_here(options, key), {}


def _refuse_others(revision: DeployedRevision) -> None:
    """Refuse if the engines serve other requests, which would be measured too."""
    for member in revision.stored.engines:
        if member.port is not None and (count := requests_running(member)):
            what = f"the engine serves {count} other request{'s' if count > 1 else ''}"
            raise Refused(
                f"{member.name}: {what}, which would change the result", hint="wait until no other client uses it"
            )


def _drop_caches(session: Session, nodes: Sequence[str]) -> None:
    dropped = session.ask({node: caches.drop(session.nodes[node].cache_dir) for node in nodes})
    for node, result in dropped.items():
        if not isinstance(result, Result) or not result.ok:
            session.report.warn("the page cache was not dropped; see why: `sparkops cache drop`", node)


def snapshot(session: Session, revision: DeployedRevision, node: str) -> Snapshot:
    """Return the model's snapshot on a node; refuses if it is missing."""
    stored = revision.stored
    session.require([node])
    facts = session.facts(models=[str(stored.models[0])]).get(node)
    model = facts.model if facts else None
    if not isinstance(model, Model) or model.revision is None:
        raise Refused(
            f"{node} has no tokenizer of {stored.data['model']}", hint="use a file here: --tokenizer FILE, without --on"
        )
    return Snapshot(model.folder, model.revision)


def _tokenizer(session: Session, revision: DeployedRevision) -> str:
    """Copy the model's tokenizer.json from the front node; returns its path here."""
    node = front_of(revision).name
    path = snapshot(session, revision, node).tokenizer
    text = session.one(node, Command(("cat", path), reads=True, timeout=300.0), f"read {path}")
    return str(bench_records.keep_tokenizer(text))


def _wrong(session: Session, facts: Mapping[str, Facts], revision: DeployedRevision) -> list[str]:
    """Return the problems after a run: a container that restarted, an API that does not answer.

    A proxy hides that a server died: it asks another one, and the numbers are of both.
    """
    containers = [(node, one) for node, found in session.containers().items() for one in found.containers]
    now = {(node, one.id): one.started_at for node, one in containers if one.state == "running"}
    wrong = [
        f"{node}: {container.name} stopped or restarted during the run"
        for node, container in revision.running
        if now.get((node, container.id)) != container.started_at
    ]
    return wrong + [f"{said} after the run" for said in _unanswered(session, facts, revision)]


def _unanswered(session: Session, facts: Mapping[str, Facts], revision: DeployedRevision) -> Iterator[str]:
    """Each front whose engine does not answer a request."""
    questions = {front.name: parts.question(facts, revision.stored, front) for front in revision.stored.fronts}
    asked = session.ask({name: scripts.serving(question, REPLACE_SECONDS) for name, question in questions.items()})
    for name in questions:
        result = asked.get(name)
        if not isinstance(result, Result) or not serving_probe(result.stdout).serves:
            yield f"{name}: the engine did not answer a request"
