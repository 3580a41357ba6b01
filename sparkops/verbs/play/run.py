"""`play`: a playbook, play by play, each a verb of its own or steps on hosts."""

import contextlib
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from sparkops.cli import registry
from sparkops.cli.shape import Invocation
from sparkops.core.inventory import Node
from sparkops.core.playbook.chosen import chosen
from sparkops.core.playbook.names import BadExpression, fill
from sparkops.core.playbook.recap import Recap, total
from sparkops.core.playbook.uses import names
from sparkops.core.playbook.values import Play, Playbook, StepsPlay, VerbPlay
from sparkops.core.schema import did_you_mean, one_line
from sparkops.core.target import Target
from sparkops.errors import Ambiguous, Interrupted, Refused, SparkopsError, StepFailed, Unreachable, UsageError
from sparkops.files import inventory, last_failed, playbooks
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.open import selected
from sparkops.verbs.play.options import PlayOptions
from sparkops.verbs.play.playbooks import ask_of, listing, refuse_bad_topology, refuse_verbs, words
from sparkops.verbs.play.steps import first, hosts_of, play_steps

LAST_FAILED = "@last-failed"
READS = (
    *("plan", "place", "diff", "status", "preflight", "facts", "logs", "endpoint", "memory"),
    *("jobs", "history", "fabric"),
    *("cache status", "bench list", "image list", "image verify", "model list", "model verify"),
)
"""Verbs that only read, so `--check` runs them."""

SELECT = "select the nodes of one of them: --limit NODES"
"""The command line of `play` has no place for the name of a deployment."""

WITH = "an option of `{verb}`, such as --allow, is written into `with` of this play ({where})"

Asks = Mapping[int, tuple[VerbPlay, Invocation]]
"""The plays with `run:` by their number, each as the command line that it is."""


def play(options: PlayOptions, report: Report) -> Answer:
    """Run a playbook, play by play; a verb that fails ends it, a node that fails is left out of later plays."""
    options = _repeated(options)
    refuse_verbs(options.file)
    whole = playbooks.playbook(options.file, options.extra)
    _refuse_unused(whole, options.extra)
    book = _on_hosts(chosen(whole, options.tags, options.skip_tags), options.extra)
    asks = {number: (one, _ask(one, options)) for number, one in enumerate(book.plays) if isinstance(one, VerbPlay)}
    if options.list_steps:
        return Answer({"file": book.source, "plays": list(listing(book))})
    for number, one in enumerate(book.plays):  # before the first play, which may reboot the nodes
        if isinstance(one, StepsPlay):
            hosts_of(one, selected(options.where, report, quiet=True))
        else:
            _refuse_unknown_nodes(*asks[number])
            refuse_bad_topology(*asks[number], _nodes)
    return _Playing(book, asks, options, report).answer()


class _Playing:
    """One run of a playbook, with the results of the nodes so far."""

    def __init__(self, book: Playbook, asks: Asks, options: PlayOptions, report: Report) -> None:
        self.book, self.asks, self.options, self.report = book, asks, options, report
        self.recaps: list[Mapping[str, Recap]] = []
        self.documents: list[dict[str, Any]] = []
        self.error: SparkopsError | None = None
        self.cut = False
        self.again: str | None = None
        self.idle: list[str] = []

    def answer(self) -> Answer:
        if not self.options.check:
            with contextlib.suppress(UsageError):  # the end of the play tells of it
                self._keep([self.options.where.limit or "all"])
        for number, one in enumerate(self.book.plays):
            self.report.note(f"play: {one.name}")
            try:
                self._steps(one) if isinstance(one, StepsPlay) else self._verb(*self.asks[number])
            except SparkopsError as error:
                self.error = first(self.error, error)
                self.again = self._limit(one)
                break
            if self.cut:
                self._leave_out(self.book.plays[number + 1 :])
                break
        counts = total(self.recaps)
        bad = [node for node, recap in counts.items() if recap.bad]
        if not self.options.check:
            self._remember([self.again] if self.again else [*dict.fromkeys((*bad, *self.idle))])
        recap = [{"node": node, **asdict(one)} for node, one in counts.items()]
        document = {"file": self.book.source, "check": self.options.check, "plays": self.documents, "recap": recap}
        kept = {} if self.error else {"log": self.report.run_log}
        return Answer(document | kept, error=self.error)

    def _remember(self, failed: list[str]) -> None:
        """Keep the nodes for `--limit @last-failed`; the play has ended, whether this succeeds or not."""
        try:
            self._keep(failed)
        except UsageError as error:
            self.report.warn(f"`--limit {LAST_FAILED}` does not know this run: {error.message}")

    def _keep(self, failed: list[str]) -> None:
        try:
            source = inventory.inventory(self.options.where.inventory).source
        except UsageError:
            return  # a playbook that reaches no node needs no inventory
        last_failed.keep(source, failed)

    def _leave_out(self, plays: Sequence[Play]) -> None:
        """Say that these plays did not run, and note on which nodes."""
        for one in plays:
            self.report.warn(f"play {one.name!r} did not run")
            here = selected(self.options.where, self.report, quiet=True)
            self.idle += [node.name for node in (hosts_of(one, here) if isinstance(one, StepsPlay) else here.nodes)]

    def _limit(self, one: Play) -> str:
        """The `--limit` that repeats a play which failed as a whole."""
        return self.options.where.limit or (one.hosts if isinstance(one, StepsPlay) else None) or "all"

    def _steps(self, one: StepsPlay) -> None:
        failed = frozenset(node for node, recap in total(self.recaps).items() if recap.bad)
        played = play_steps(one, self.options, failed, self.report)
        self.recaps.append(played.recap)
        self.documents.append(
            {"name": one.name, "recap": {node: asdict(recap) for node, recap in played.recap.items()}}
        )
        self.error = first(self.error, played.error)
        self.cut = played.cut
        idle = [node for node, recap in played.recap.items() if recap == Recap()]
        if played.cut and idle:
            self.idle += idle
            self.report.warn(f"the play ended early: it did not run on {', '.join(idle)}")

    def _verb(self, one: VerbPlay, ask: Invocation) -> None:
        verb = ask.verb
        if self.options.check and verb == "deploy":
            verb = "plan"
        if self.options.check and (verb not in READS or getattr(ask.options, "fix", False)):
            self.report.note(f"would run: sparkops {shlex.join(words(one, self.options.extra))}")
            self.documents.append({"name": one.name, "verb": verb, "decided": "in the run"})
            return
        short = verb != ask.verb and not self.report.how.verbose
        options = replace(ask.options, short=True) if short else ask.options
        try:
            answer = registry.run(verb)(options, self.report)
        except (UsageError, Refused) as error:
            raise self._told(one, ask, error) from None
        self.report.show_answer(verb, answer)
        self.documents.append({"name": one.name, "verb": verb, "document": dict(answer.document)})
        if answer.error or answer.exit_code:
            raise answer.error or _ended(verb, answer.exit_code)

    def _told(self, one: VerbPlay, ask: Invocation, error: SparkopsError) -> SparkopsError:
        """The error of a verb as one of its play, whose nodes its advice is about."""
        limit = ask.options.where.limit if hasattr(ask.options, "where") else ""
        hint = replace(self.report.how, limit=limit or "").again(error.hint or "")
        if any(" --" in f" {line}" and "`" not in line and "sparkops" not in line for line in hint.splitlines()):
            hint += f"\n{WITH.format(verb=one.verb, where=one.where)}"
        if isinstance(error, Refused):
            return Refused(error.message, node=error.node, step=error.step, hint=hint or None)
        text = f"{one.where}: play {one.name!r}: run {one.verb}: {error.message}"
        hint = SELECT if isinstance(error, Ambiguous) else hint
        return UsageError(text, node=error.node, step=error.step, hint=hint or None)


def _ended(verb: str, code: int) -> SparkopsError:
    """The error of a verb that only says by its exit code what it found, such as `status`."""
    if code == Interrupted.exit_code:
        return Interrupted()
    kind = Unreachable if code == Unreachable.exit_code else StepFailed
    return kind(f"{verb} ended with exit code {code}", hint=f"the output of `sparkops {verb}` says why")


def _on_hosts(book: Playbook, extra: Mapping[str, Any]) -> Playbook:
    """The playbook with the variables in the hosts of its plays filled."""
    return replace(book, plays=tuple(_filled(one, extra) if isinstance(one, StepsPlay) else one for one in book.plays))


def _filled(one: StepsPlay, extra: Mapping[str, Any]) -> StepsPlay:
    try:
        return replace(one, hosts=one.hosts and fill(one.hosts, {**one.vars, **extra}))
    except BadExpression as error:
        text = f"{one.where}: play {one.name!r}: hosts: {error}"
        raise UsageError(text, hint="give it a value: -e NAME=VALUE") from None


def _refuse_unused(book: Playbook, extra: Iterable[str]) -> None:
    """Refuse an `-e` variable that no play uses: it is probably a typing error."""
    wanted = set(names(book))
    for name in extra:
        if name not in wanted:
            raise UsageError(
                one_line(f"-e {name}: no play of {book.source} uses this variable{did_you_mean(name, wanted)}")
            )


def _repeated(options: PlayOptions) -> PlayOptions:
    """Replace `--limit @last-failed` by the nodes that failed in the last run."""
    if options.where.limit != LAST_FAILED:
        return options
    source = inventory.inventory(options.where.inventory).source
    failed = last_failed.nodes(source)
    if not failed:
        raise UsageError(one_line(f"--limit {LAST_FAILED}: no node failed in the last run on the nodes of {source}"))
    return replace(options, where=replace(options.where, limit=",".join(failed)))


def _ask(one: VerbPlay, options: PlayOptions) -> Invocation:
    """Parse a verb's play with the nodes and passwords of `play`; the play's own limit wins."""
    ask = ask_of(one, options.extra)
    if not hasattr(ask.options, "where"):
        return ask
    where = replace(options.where, limit=ask.options.where.limit or options.where.limit)
    return replace(ask, options=replace(ask.options, where=where))


def _refuse_unknown_nodes(one: VerbPlay, ask: Invocation) -> None:
    try:
        if hasattr(ask.options, "where"):
            _nodes(ask.options.where)
    except UsageError as error:
        raise UsageError(f"{one.where}: play {one.name!r}: {error.message}", hint=error.hint) from None


def _nodes(where: Target) -> Sequence[Node]:
    """The nodes that a play's command line selects."""
    return inventory.inventory(where.inventory).select(where.limit)
