"""Why a deployment does not serve, as far as facts and logs tell it."""

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain

from sparkops.core.condition import State
from sparkops.core.diagnosis import most_telling
from sparkops.core.enginelog import since_meeting
from sparkops.core.facts import Container, Facts, Unread
from sparkops.core.inventory import Inventory
from sparkops.core.known_ends import SERVED
from sparkops.core.stored import Stored, StoredMember
from sparkops.phases.beside import half_replaced, in_the_way
from sparkops.phases.parts import DeployedRevision, cut_off, unlike_keys
from sparkops.session.away import AwayNodes, unreachable
from sparkops.session.start_problem import LINK, LINK_DOWN, ONE_KEY, UNLIKE_KEYS

Place = tuple[StoredMember, Container | None]
"""A member of a deployment, and its container if there is one."""

Logs = Mapping[tuple[str, str], str]
"""The last lines of containers, by node and container."""

RECENT = 3600.0
"""Seconds after a boot for which it explains a deployment that does not serve."""

STARTS_BY_ITSELF = 600.0
"""Seconds after a boot within which Docker starts the containers that it restarts."""

SIGNALS, KILLED = 128, 137
"""A shell's exit codes: above the first the program was ended by a signal; the second means SIGKILL."""

WHOLE = "use an inventory with all of its nodes: -i FILE"
WAIT = "wait until the model has loaded: `sparkops logs --follow` shows how far it is"
READ = "read the logs: `sparkops logs {0}`; to start it again: `sparkops restart {0}`"
REACH = "find out why: `sparkops preflight --only ssh,host-key`"

NEXT: Mapping[State, str] = {
    "starting": WAIT,
    "degraded": READ,
    "failed": READ,
    "unreachable": REACH,
}
"""What to do about a state if its cause is not known; {0} is how a command line names the deployment."""

_ENDED = ("created", "exited", "dead")
"""States of a container that Docker does not start again by itself."""

ENDS = re.compile(r"\bdeploy\b|`sparkops (start|restart|stop|rollback)\b")
"""A next step after which no restart is needed, or none is possible."""
OTHER_VALUE = re.compile(r"\b(?:lower|raise|set) .*`(?:gpu-memory-utilization|max-model-len|--)")
"""A next step that a restart does not take: it starts with the options of the deploy."""

_CODE = re.compile(r"sparkops: the engine ended with exit code (\d+)")


@dataclass(frozen=True)
class Reason:
    """`node` is where the cause is; `next` what to do."""

    node: str
    text: str
    next: str


@dataclass(frozen=True)
class Commands:
    """How a command line names a deployment, and the sentences that deploy it again and go back to it."""

    name: str
    again: str
    back: str


def cause(
    stored: Stored,
    places: Sequence[Place],
    silent: Collection[StoredMember],
    facts: Mapping[str, Facts],
    logs: Logs,
    commands: Commands,
) -> Reason | None:
    """The first of these: a link that is down, a reboot, what the logs say, a container that ended or is `silent`."""
    down = _down(stored, places, silent, facts, commands)
    return next(chain(_links(stored, facts), _reboots(places, facts), _said(places, logs), down), None)


def silence(places: Sequence[Place], away: AwayNodes) -> Reason | None:
    """Why the state of a deployment is unknown: the first of its nodes that could not be reached."""
    lost = next((away[member.name] for member, _ in places if member.name in away), None)
    return Reason(lost.node, f"{lost.node}: {lost.reason}", unreachable(lost).hint or REACH) if lost else None


def outside(stored: Stored, inventory: Inventory, typed: str) -> Reason | None:
    """A part on a node that this inventory does not have."""
    member = stored.outside(inventory.nodes)
    if member is None:
        return None
    hint = f"{WHOLE}; or forget it here: `sparkops stop --remove {typed}`"
    return Reason(member.name, not_in(inventory, member), hint)


def not_in(inventory: Inventory, member: StoredMember) -> str:
    return f"a part is on {member.name} ({member.address}), which is not in the inventory {inventory.source}"


def missed(stored: Stored, places: Sequence[Place], facts: Mapping[str, Facts], name: str) -> Reason | None:
    """What an earlier run was to stop and could not reach, so that it left a note about it."""
    noted = {(note.address, note.container) for known in facts.values() for note in known.orphans}
    for member, container in places:
        if container is not None and container.runs and (member.address, container.name) in noted:
            text = f"an earlier run could not reach {member.name}, where the {member.role} still runs"
            there = f"{name} --limit {shlex.quote(member.name)}"
            return Reason(member.name, text, f"stop it there: `sparkops stop {there}`")
    return None


def keys(one: DeployedRevision, facts: Mapping[str, Facts], commands: Commands) -> Reason | None:
    """API keys that differ, so that its proxy gets no answer from some servers."""
    nodes = unlike_keys(one, facts)
    return Reason(nodes[0], UNLIKE_KEYS.format(" and ".join(nodes)), ONE_KEY.format(commands.name)) if nodes else None


def in_its_place(one: DeployedRevision, here: Iterable[DeployedRevision]) -> str:
    """What runs so that this one cannot; an empty text if nothing does."""
    others = dict.fromkeys(other.title for other in in_the_way(one, [other for other in here if other.runs]))
    return f"{' and '.join(others)} run{'s' if len(others) == 1 else ''} in its place" if others else ""


def displaced(
    one: DeployedRevision, here: Iterable[DeployedRevision], commands: Commands, *, answers: bool
) -> Reason | None:
    """What runs in the place of a deployment of which only a part runs, and which answers or not."""
    others = in_the_way(one, [other for other in here if other.runs])
    node = one.parts[0][0]
    stop = f"stop the rest of it: `sparkops stop {commands.name}`"
    if not others or (one.complete and not one.kept) or (answers and not one.complete):
        return None
    if front := next((other for other in others if half_replaced(other, one)), None):
        return Reason(node, f"only a part of it runs, behind the proxy of {front.title}", commands.again)
    if not one.complete:  # its other containers were removed, by an undo or by a later deploy
        return Reason(node, f"only a part of it is left, beside {others[0].title}", stop)
    if rest := next((other for other in others if other.kept or not other.complete), None):
        return Reason(node, f"a part of {rest.title} runs in its place", commands.back)
    return Reason(node, in_its_place(one, others), f"{commands.back}; or {stop}")


def _links(stored: Stored, facts: Mapping[str, Facts]) -> Iterator[Reason]:
    for node, reason in cut_off(stored, facts).items():
        yield Reason(node, LINK_DOWN.format(node, reason), LINK)


def _reboots(places: Sequence[Place], facts: Mapping[str, Facts]) -> Iterator[Reason]:
    for member, container in places:
        if container is not None and (ago := _rebooted(container, facts[member.name])) is not None:
            text = f"{member.name} rebooted {max(1, round(ago / 60))} min ago, and the model loads again"
            yield Reason(member.name, text, WAIT)


def _rebooted(container: Container, facts: Facts) -> float | None:
    """How many seconds ago a boot ended the container and Docker started it again; None without one."""
    created, started = seconds(container.created_at), seconds(container.started_at)
    if not created < facts.booted <= started + 1 or started > facts.booted + STARTS_BY_ITSELF:
        return None
    ago = now(facts) - facts.booted
    return ago if ago < RECENT else None


def _said(places: Sequence[Place], logs: Logs) -> Iterator[Reason]:
    read = [
        (member.name, "\n".join(since_meeting(logs[member.name, container.name])))
        for member, container in places
        if container is not None and (member.name, container.name) in logs
    ]
    down = any(container is None or container.state in _ENDED for _, container in places)
    if found := most_telling(text for _, text in read):
        index, diagnosis = found
        if down and diagnosis.follows:
            return
        node = read[index][0]
        if diagnosis.follows and (ended := _ended(read)):
            yield ended
            return
        hint = diagnosis.hint.replace("logs --previous", "logs")  # the container is still there
        yield Reason(node, f"{node}: {diagnosis.cause}", hint)


def _ended(read: Sequence[tuple[str, str]]) -> Reason | None:
    """The end of an engine that served and starts again: a signal (128 and more) before what followed from it."""
    ends = [(node, int(codes[-1])) for node, text in read if (codes := re.findall(SERVED, text))]
    if not ends:
        return None
    node, code = max(ends, key=lambda end: end[1] > SIGNALS)
    killed = ", which means that it was killed, often because memory ran out" if code == KILLED else ""
    return Reason(node, f"{node}: the engine ended with exit code {code}{killed}; it starts again", WAIT)


def _down(
    stored: Stored,
    places: Sequence[Place],
    silent: Collection[StoredMember],
    facts: Mapping[str, Facts],
    commands: Commands,
) -> Iterator[Reason]:
    """What does not run before what runs and does not answer: a proxy may only wait for a server."""
    whole = all(container is not None or member.name not in facts for member, container in places)
    for member, container in places:
        what = f"the {member.role} on {member.name}"
        if container is None and member.name in facts:
            yield Reason(member.name, f"{what} has no container", commands.again)
        elif container is not None and container.state in _ENDED:
            mend = f"start it: `sparkops start {commands.name}`" if container.kept and whole else commands.again
            yield Reason(member.name, f"{what} is not running", mend)
    for member, _ in places:
        if member in silent:
            others = "servers behind it" if member.role == "proxy" else "other servers"
            but = f", but the {others} do" if len(places) < len(stored.members) else ""
            text = f"the {member.role} on {member.name} does not answer{but}"
            yield Reason(member.name, text, f"restart it: `sparkops restart {commands.name}`")


def last_exit_code(container: Container, log: str) -> int | None:
    """The exit code of the engine's last end. Docker's own is 0 as soon as the container runs again."""
    told = _CODE.findall(log)
    return int(told[-1]) if told else container.exit_code


def now(facts: Facts) -> float:
    """The node's time in seconds since 1970; 0 if unknown."""
    return 0.0 if isinstance(facts.clock, Unread) else facts.clock.seconds


def seconds(time: str) -> float:
    """A time of Docker in seconds since 1970; 0 if there is none."""
    try:
        return datetime.fromisoformat(time).timestamp()
    except ValueError:
        return 0.0
