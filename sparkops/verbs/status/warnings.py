"""What endangers a deployment although it serves. Pure: judges facts, by the checks where one exists."""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sparkops.checks import CHECKS
from sparkops.checks.judging import watched
from sparkops.checks.memory import long_context, scheduled
from sparkops.core.facts import Facts, Scheduled
from sparkops.core.facts.schedule import drops
from sparkops.core.findings import Finding
from sparkops.core.growth import TROUBLE_KIB, WORRY_SECONDS, growth
from sparkops.core.inventory import Inventory
from sparkops.core.plan import NodeLost
from sparkops.core.sizes import gib
from sparkops.core.stored import Stored
from sparkops.phases.parts import DeployedRevision, unlike_keys
from sparkops.session.away import unreachable
from sparkops.session.start_problem import ONE_KEY, UNLIKE_KEYS
from sparkops.verbs.cache.schedule import row
from sparkops.verbs.status.causes import WHOLE, Logs, last_exit_code, not_in, now, seconds

A_DAY = 86_400.0


def of_node(node: str, facts: Facts, runs: str) -> Iterator[Finding]:
    """Warnings about one node; `runs` is the log of its scheduled cache drops."""
    yield from watched(node, facts, CHECKS)
    entry = row(node, facts)
    if entry["problem"] and isinstance(facts.schedule, Scheduled):
        text = f"the scheduled cache drop does not work: {entry['problem']}"
        yield Finding("cache-schedule", "warn", text, "", entry["hint"], node=node)
    room = facts.memory.available_kib
    if 0 < room < TROUBLE_KIB:
        text = f"only {gib(room)} of memory is available; with less than {gib(TROUBLE_KIB)} a GB10 freezes"
        hint = "`sparkops memory` shows what uses it; stop what can be stopped: `sparkops stop NAME`"
        yield Finding("memory-low", "warn", text, "", hint, node=node)
    grows = growth(drops(runs), facts.booted)
    left = grows.seconds_left(room) if grows else None
    if left is not None and left < WORRY_SECONDS:
        text = f"free memory shrinks; at this rate it is used up in about {left / 3600:.0f} h"
        hint = "`sparkops memory` shows what uses it; a new start of the engine frees it: `sparkops deploy --refresh`"
        yield Finding("memory-shrinks", "warn", text, "", hint, node=node)


def of_schedule(stored: Stored, facts: Mapping[str, Facts]) -> Iterator[Finding]:
    """Nodes of a cluster with a long context that drop no page cache."""
    args = stored.data.get("args") or {}
    tokens = args.get("max-model-len", 0)
    known = tokens if isinstance(tokens, int | float) else 0
    if not stored.executor or not long_context(stored.models[0].model, known):
        return
    for member in stored.engines:
        found = facts[member.name].schedule if member.name in facts else None
        if isinstance(found, Scheduled) and found.line is None:
            yield Finding(
                scheduled.id, "warn", "no cron job drops the page cache", "", scheduled.hint, node=member.name
            )


def of_restarts(one: DeployedRevision, facts: Mapping[str, Facts], logs: Logs, typed: str) -> Iterator[Finding]:
    """Containers that Docker restarted within the last day; `typed` names the deployment on a command line."""
    for node, container in one.parts:
        if container.aside or not container.restarts or now(facts[node]) - seconds(container.started_at) > A_DAY:
            continue
        code = last_exit_code(container, logs.get((node, container.name), ""))
        times = "once" if container.restarts == 1 else f"{container.restarts} times"
        text = f"the {container.role or 'container'} of {one.stored.deployment} was restarted {times}"
        if container.oom_killed:
            text += "; the kernel killed it because memory ran out"
        elif code is not None:
            text += f"; the last exit code was {code}"
        there = f"{typed} --limit {shlex.quote(node)}"
        yield Finding("restarts", "warn", text, "", f"its log says why: `sparkops logs {there}`", node=node)


def of_keys(one: DeployedRevision, facts: Mapping[str, Facts], typed: str) -> Iterator[Finding]:
    """API keys that differ, so that the proxy uses only some of its servers."""
    if nodes := unlike_keys(one, facts):
        text = UNLIKE_KEYS.format(" and ".join(nodes)) + (", so the proxy uses only some servers" if one.runs else "")
        yield Finding("keys-differ", "warn", text, "", ONE_KEY.format(typed), node=nodes[0])


def of_inventory(stored: Stored, inventory: Inventory) -> Iterator[Finding]:
    """A part on a node that this inventory does not have, so that it is neither looked at nor changed."""
    if member := stored.outside(inventory.nodes):
        yield Finding("inventory", "warn", not_in(inventory, member), "", WHOLE, node=member.name)


def of_silence(silent: Mapping[str, NodeLost]) -> Iterator[Finding]:
    """Nodes whose deployments serve although sparkops cannot reach them."""
    for node, lost in silent.items():
        text = f"{lost.reason}, but its deployment answers"
        hint = unreachable(lost).hint or "see `sparkops preflight --only ssh,host-key`"
        yield Finding("management", "warn", text, "", hint, node=node)


def document(found: Iterable[Finding]) -> list[dict[str, Any]]:
    """The value of the key `warnings`."""
    return [{"id": one.id, "node": one.node, "text": one.message, "next": one.hint} for one in found]
