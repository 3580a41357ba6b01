"""Copy a model from one node to the others: each gets the missing files over the fabric, along a chain."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sparkops.core.copying import COPY_STALL
from sparkops.core.facts import Facts, known
from sparkops.core.model_name import ModelName
from sparkops.core.plan import Phase, Plan
from sparkops.core.sizes import bytes_text
from sparkops.errors import Refused, StepFailed
from sparkops.node_commands import models as commands
from sparkops.phases.copies import Copy, awaited, compile_copy
from sparkops.phases.images import running
from sparkops.phases.models import compile_look, manifest_path
from sparkops.session.session import Session
from sparkops.session.transfer_routes import clear, give_keys, transfer_routes
from sparkops.verbs.model.list import follow, parsed, results

LEAST = 2**20
BESIDE = 64 * 2**20
"""Bytes that stay free."""


@dataclass(frozen=True)
class WantedCopy:
    """`name` has the commit; `manifest` lists the source's files, `words` is the directory of the vocabulary files.

    `stall` seconds without progress end a copy.
    """

    name: ModelName
    manifest: str
    words: str | None
    stall: int

    @property
    def bytes(self) -> int:
        return sum(dict(json.loads(self.manifest)["files"].values()).values())

    @property
    def job(self) -> str:
        return self.name.job("copy")


def ensure_copied(
    session: Session, name: ModelName, source: str, names: Sequence[str], words: str | None, stall: float = COPY_STALL
) -> dict[str, int]:
    """Copy the missing files; tries again only after progress. Returns the bytes copied to each node."""
    others = [node for node in names if node != source]
    if not others:
        return {}
    facts = session.facts()
    session.require([source, *others])
    wanted = _wanted(session, name, source, words, int(stall))
    copied: dict[str, int] = {}
    before = -1
    while True:
        clear(session, {node: facts[node] for node in names}, sudo=False)
        lacking = _lacking(session, wanted, others, facts)
        left = sum(len(one["missing"]) for one in lacking.values())
        if not left:
            return copied
        if 0 <= before <= left:
            message = f"{name.title}: the copy to {', '.join(lacking)} made no progress"
            raise StepFailed(message, hint=f"see its whole log: `sparkops jobs logs {wanted.job}`")
        before = left
        need = {node: copied.get(node, one["need"]) for node, one in lacking.items()}
        done = _copy(session, wanted, names, lacking, facts)
        copied |= need
        if done:
            return copied
        facts = session.facts()


def _wanted(session: Session, name: ModelName, source: str, words: str | None, stall: int) -> WantedCopy:
    """Pin the source's commit, so that a branch that moves during the copy changes nothing."""
    cache = session.nodes[source].cache_dir
    text = session.one(source, commands.has(name, cache, words), f"list the files of {name}")
    manifest = parsed(source, text)
    pinned = name if name.local else ModelName(name.model, manifest["revision"])
    return WantedCopy(pinned, json.dumps(manifest), words, stall)


def _lacking(
    session: Session, wanted: WantedCopy, others: Iterable[str], facts: Mapping[str, Facts]
) -> dict[str, dict[str, Any]]:
    """Wait for running copies, then return what each node lacks."""
    busy = [node for node in others if wanted.job in running(facts[node])]
    if busy:
        session.report.note(f"the job {wanted.job} already runs on {', '.join(busy)}; following it")
        steps = tuple(awaited(wanted.job, wanted.name.title, tuple(busy), wanted.stall))
        plan = Plan("model fetch", None, (Phase("copy the model", steps),), on_failure="go-on")
        try:
            follow(plan, session, wanted.job)
        except StepFailed as error:  # an interrupted run may have begun the receivers but no sender
            session.report.warn(f"{error.message}; copying the missing files anew")
    for node in others:
        disk = known(facts[node].disk, {}).get("cache")
        if disk is not None and disk.free_kib * 1024 < LEAST:  # not even room to look
            _room(node, wanted.name, wanted.bytes, disk.free_kib * 1024)
    caches = {node: session.nodes[node].cache_dir for node in others}
    follow(compile_look(wanted.name, wanted.manifest, wanted.words, caches, facts), session, wanted.name.job("look"))
    found = results(session, caches, wanted.name.job("look"))
    return {node: one for node, one in found.items() if one["missing"]}


def _copy(
    session: Session,
    wanted: WantedCopy,
    names: Sequence[str],
    lacking: Mapping[str, Mapping[str, Any]],
    facts: Mapping[str, Facts],
) -> bool:
    """Send along each chain all that its nodes lack; a receiver succeeds only if it has verified all of it."""
    chains = transfer_routes(session, names, frozenset(names) - set(lacking), facts)
    give, take, most = {}, {}, 0
    lengths = {blob: length for blob, length in json.loads(wanted.manifest)["files"].values()}  # noqa: C416
    for chain in chains:
        only = sorted({blob for hop in chain for blob in lacking[hop.receiver]["missing"]})
        need = sum(lengths.get(blob, 0) for blob in only)
        most = max(most, need)
        source = chain[0].sender
        short = [name if "." in name else name[:12] for name in only]  # unique among the files of one model
        give[source] = commands.give(wanted.name, session.nodes[source].cache_dir, short, wanted.words)
        for hop in chain:
            _room(hop.receiver, wanted.name, need, lacking[hop.receiver]["free"])
            manifest, cache = manifest_path(facts[hop.receiver], wanted.name), session.nodes[hop.receiver].cache_dir
            take[hop.receiver] = commands.take(wanted.name, cache, manifest, wanted.words)
    give_keys(session, chains)
    copy = Copy(wanted.job, wanted.name.title, most, chains, wanted.stall, {}, "model", give, take)
    try:
        follow(compile_copy(copy, facts), session, wanted.job)
    except StepFailed as error:
        session.report.warn(f"{error.message}; trying the missing files again")
        return False
    return True


def _room(node: str, name: ModelName, need: int, have: int) -> None:
    if need + BESIDE > have:
        raise Refused(
            f"{node}: the disk is too full for {name.title}: need {bytes_text(need)}, have {bytes_text(have)}",
            node=node,
            hint="free space: `sparkops image prune`, `sparkops model prune`",
        )
