"""The past runs that the notes of some nodes tell of, and what they left half done."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sparkops.core.facts.access import Admitted
from sparkops.core.notes import EVERYTHING, NodeHistory, Note
from sparkops.errors import StepFailed

SAY_FIRST = ("apply", "start", "restart", "rollback", "key rotate")
"""Verbs that note what they are about before they change anything."""

AT_ONCE = 120.0
"""Seconds within which an endpoint starts or stops a deployment on all its nodes."""


@dataclass(frozen=True)
class PastRun:
    """One run over all nodes that it locked. `end` is None while it runs, or if it was cut off.

    `left` are the deployments that it was about and that no later run settled, if it was cut off.
    """

    begin: Note
    nodes: tuple[str, ...]
    end: Note | None = None
    runs: bool = False
    left: frozenset[str] = frozenset()

    @property
    def state(self) -> str:
        if self.runs:
            return "running"
        return "cut off" if self.end is None else "ended"

    @property
    def may_have_begun(self) -> frozenset[str]:
        """The deployments of which it may have started a new revision."""
        return self.left if self.begin.verb == "apply" else frozenset({self.begin.deployment})

    @property
    def document(self) -> dict[str, Any]:
        """The run for JSON."""
        begin, end = self.begin, self.end
        return {
            "run": begin.run,
            "state": self.state,
            "operator": begin.operator,
            "verb": begin.verb,
            "command": begin.command,
            "began": begin.at,
            "ended": end and end.at,
            "exit_code": end and end.exit_code,
            "changed": end and end.changed,
            "outcome": end and end.outcome,
            "commit": (end and end.commit) or None,
            "nodes": list(self.nodes),
        }


def runs(nodes: Mapping[str, NodeHistory]) -> tuple[PastRun, ...]:
    """Every run that began on one of the nodes, newest last.

    One that locked nodes in turn has several begins and ends; it ended if its last end is not before its last begin.
    """
    told: dict[str, list[tuple[str, Note]]] = {}
    for name, history in nodes.items():
        for note in history.notes:
            told.setdefault(note.run, []).append((name, note))
    holders = {history.holder for history in nodes.values()}
    found = []
    for run, noted in told.items():
        begins = sorted((note for _, note in noted if note.event == "begin"), key=lambda note: note.at)
        ends = [note for _, note in noted if note.event == "end"]
        end = max(ends, key=lambda note: (note.at, note.exit_code or 0), default=None)
        end = end and replace(end, changed=any(one.changed for one in ends) or end.changed)
        if begins:
            since = begins[-1].at
            last = {name: note.event for name, note in noted}
            again = {last[name] for name, note in noted if note.event == "begin" and note.at == since}
            ended = end if end and (end.at > since or again == {"end"}) else None  # times are whole seconds
            first = replace(begins[0], deployment=begins[-1].deployment)  # of a playbook, what it came to
            found.append(PastRun(first, tuple(dict.fromkeys(name for name, _ in noted)), ended, run in holders))
    begun = [note.run for history in nodes.values() for note in history.notes if note.event == "begin"]
    return tuple(sorted(found, key=lambda one: (one.begin.at, begun.index(one.begin.run))))


def switched(nodes: Mapping[str, Mapping[str, Admitted]]) -> list[dict[str, Any]]:
    """What endpoints did by themselves, in the shape of `PastRun.document`; `nodes` is what they may do on each.

    What was done to one deployment on several nodes at a time is one row.
    """
    acts = [(act, gateway, node) for node, doors in nodes.items() for gateway, it in doors.items() for act in it.acts]
    found = list[dict[str, Any]]()
    last: dict[tuple[str, str, str], dict[str, Any]] = {}
    # within a second, what makes room comes before what needs it
    for act, gateway, node in sorted(acts, key=lambda one: (one[0].at, one[0].verb == "start", one)):
        key, at = (gateway, act.verb, act.deployment), f"{act.at}+00:00"
        row = last.get(key)
        if row and node not in row["nodes"] and _seconds(row["began"], at) < AT_ONCE:
            row["nodes"].append(node)
            continue
        verb = {"start": "model activate", "stop": "model sleep"}[act.verb]
        begin = Note("begin", "", at, operator=gateway, verb=verb, command=f"{act.verb} {act.deployment}")
        last[key] = PastRun(begin, (node,), replace(begin, event="end", exit_code=0, changed=True)).document
        found.append(last[key])
    return found


def _seconds(before: str, after: str) -> float:
    return (datetime.fromisoformat(after) - datetime.fromisoformat(before)).total_seconds()


def cut_off(nodes: Mapping[str, NodeHistory]) -> tuple[PastRun, ...]:
    """The runs that never ended and that no later run made up for on all their nodes, newest last.

    A run that settled a deployment did so on all nodes of this deployment, also on those that it did not have to lock;
    but it had to lock one of them. On a node, a stop of all or a playbook is over once any deployment is settled,
    unless that run named it and changed nothing.
    A run that was cut off before it said what it is about changed nothing.
    """
    where: dict[str, set[str]] = {}
    for name, history in nodes.items():
        for note in history.notes:
            where.setdefault(note.run, set()).add(name)
    ends = [note for history in nodes.values() for note in history.notes if note.event == "end"]
    told = {note.run for history in nodes.values() for note in history.notes if note.event == "about"}

    def settled(run: str, begin: Note) -> Iterator[str]:
        """What later runs settled that shared a node with this one."""
        for end in ends:
            if end.at > begin.at and where[end.run] & where[run]:
                yield from end.settled

    left: dict[str, dict[str, _Open]] = {}
    for name, history in nodes.items():
        for run, one in _left_open(history.notes).items():
            if rest := one.without(settled(run, one.begin)):
                left.setdefault(run, {})[name] = rest
    return tuple(
        replace(one, nodes=tuple(there), left=frozenset().union(*(it.left for it in there.values())))
        for one in runs(nodes)
        if one.state == "cut off" and (there := left.get(one.begin.run))
        if one.begin.run in told or one.begin.verb not in SAY_FIRST
    )


def stopped_before(nodes: Sequence[NodeHistory], deployment: str, digest: str, run: PastRun) -> bool:
    """Whether the last run that settled this revision before that one began stopped it, or was about another one."""
    rollbacks = {note.run for one in nodes for note in one.notes if digest in note.stopped}
    ends = (note for one in nodes for note in one.notes if note.event == "end" and deployment in note.settled)
    last = max((note for note in ends if note.at <= run.begin.at), key=lambda note: note.at, default=None)
    stops = last is not None and (last.verb == "stop" or last.run in rollbacks)
    return stops or (last is not None and last.verb == "deploy" and last.deployment != deployment)


def stopped_for(nodes: Iterable[NodeHistory], started: Set[str]) -> frozenset[str]:
    """What the last rollback to all of these hashes stopped; empty if there was none that was not undone."""
    noted = [note for history in nodes for note in history.notes]
    undone = {note.run for note in noted if note.event == "end" and note.exit_code and not note.changed}
    abouts = (note for note in noted if note.run not in undone and started and started <= {*note.started})
    last = max(abouts, key=lambda note: note.at, default=None)
    return frozenset(last.stopped) if last else frozenset()


def unfinished_rollback(nodes: Iterable[NodeHistory], runs: Sequence[PastRun], deployment: str) -> Note | None:
    """The `about` of the newest of these runs, if that was a rollback of this deployment (empty: of all)."""
    if not runs or (runs[-1].begin.verb, runs[-1].begin.deployment) != ("rollback", deployment):
        return None
    noted = (note for history in nodes for note in history.notes if note.run == runs[-1].begin.run)
    return next((note for note in noted if note.started), None)


def unfinished_restarts(nodes: Iterable[NodeHistory], runs: Iterable[PastRun]) -> frozenset[str]:
    """The hashes of what these runs were to stop and start again, and no later run settled."""
    left = {run.begin.run: run.left for run in runs}
    noted = (note for history in nodes for note in history.notes if note.deployment in left.get(note.run, ()))
    return frozenset(digest for note in noted for digest in note.restarts)


def replaced_by(nodes: Iterable[NodeHistory]) -> tuple[dict[str, tuple[str, ...]], frozenset[str]]:
    """The hashes of what deploys were to stop: by run, of those that did not end; and of all that failed.

    A failure no longer counts once a later run on that node settled something.
    """
    left, failed = dict[str, tuple[str, ...]](), set[str]()
    for history in nodes:
        noted, here = dict[str, tuple[str, ...]](), set[str]()
        for note in history.notes:
            if note.event == "about":
                noted[note.run] = tuple(dict.fromkeys((*noted.get(note.run, ()), *note.replaces)))
            elif note.event == "end":
                gone = noted.pop(note.run, ())
                here = {*here, *gone} if note.exit_code else (set() if note.settled else here)
        left |= {run: gone for run, gone in noted.items() if gone}
        failed |= here
    return left, frozenset(failed)


def settled_since(nodes: Iterable[NodeHistory], verb: str, deployment: str) -> bool:
    """Whether another command settled this deployment after the last run of this verb on some node.

    If no node remembers such a run, many others came after it.
    """
    every = [history.notes for history in nodes]
    since = [[at for at, note in enumerate(notes, 1) if note.verb == verb] for notes in every]
    known = [(notes, places[-1]) for notes, places in zip(every, since, strict=True) if places]
    later = (note for notes, at in known or ((notes, 0) for notes in every) for note in notes[at:])
    return any(note.event == "end" and deployment in note.settled for note in later)


def last_apply(nodes: Iterable[NodeHistory], fleet: str) -> Note | None:
    """The end of the last `apply` of this fleet that came to an end: well, or with steps that failed."""
    ends = (note for history in nodes for note in history.notes if note.event == "end" and note.fleet == fleet)
    return max((one for one in ends if one.exit_code in (0, StepFailed.exit_code)), key=lambda it: it.at, default=None)


def under_way_text(run: Mapping[str, Any]) -> str:
    """What to say of a run that holds locks now; `run` is its document."""
    since = f"{run['began'][:16].replace('T', ' ')} UTC, {', '.join(run['nodes'])}"
    return f'{run["operator"]} changes these nodes now, since {since}: "{run["command"]}" (run {run["run"]})'


def cut_off_text(run: Mapping[str, Any]) -> str:
    """What to say of a run that was cut off, and the next step; `run` is its document."""
    when = f"{run['began'][:16].replace('T', ' ')} UTC, {', '.join(run['nodes'])}"
    cut = f'run {run["run"]} by {run["operator"]} was cut off ({when}): "{run["command"]}". '
    if run["verb"] == "fabric setup":
        return f"{cut}Within a minute, each node has its old or its new configuration; then run it again."
    return f"{cut}Run it again, or deploy, roll back or stop: each works from whatever runs now."


@dataclass(frozen=True)
class _Open:
    """A run without an end, and the deployments that it was about and that no later run settled yet."""

    begin: Note
    left: frozenset[str]

    def after(self, end: Note) -> "_Open | None":
        """What another run with this end left of it; None if nothing.

        A run that named a deployment and found nothing to change there tells nothing of others.
        """
        again = end.exit_code == 0 and (end.verb, end.deployment) == (self.begin.verb, self.begin.deployment)
        if again or EVERYTHING in end.settled:
            return None
        if self.left:
            return self.without(end.settled)
        looked = end.changed is not False or not end.deployment
        return None if self.begin.of_any and end.settled and looked else self

    def without(self, settled: Iterable[str]) -> "_Open | None":
        """What is left of it once these are settled."""
        left = self.left.difference(settled)
        return replace(self, left=left) if left or not self.left else None


def _left_open(found: Iterable[Note]) -> dict[str, _Open]:
    """One node's runs, by id, that have no end and that no later run on it made up for."""
    begun: dict[str, _Open] = {}
    for note in found:
        named = frozenset({note.deployment} - {""})
        if note.event == "begin":
            begun.setdefault(note.run, _Open(note, named))
        elif note.event == "about" and note.run in begun:
            begun[note.run] = replace(begun[note.run], left=begun[note.run].left | named)
        elif note.event == "end":
            begun.pop(note.run, None)
            begun = {run: left for run, one in begun.items() if (left := one.after(note))}
    return begun
