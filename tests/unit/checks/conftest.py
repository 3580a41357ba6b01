"""Cases are data: `cases.yml` names captures of `tests/unit/facts/cases` and the verdicts that they must get.

A node is the name of a capture, or a map: `capture`, `with` (probes taken from other captures: `{NAME: [PROBE, ...]}`),
`probes` (`NAME: [EXIT, TEXT]`), `lines` (`PROBE: {OLD: NEW}`, replaced in its text), and what the inventory says of it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from sparkops.checks import CHECKS
from sparkops.checks.judging import judged
from sparkops.core.fabric.bandwidth import Carried, couples
from sparkops.core.facts import NOT_ASKED, PROBES, Facts, parse
from sparkops.core.facts.peers import peers
from sparkops.core.facts.probes import CUT_OFF
from sparkops.core.facts.raw import write
from sparkops.core.findings import Finding
from sparkops.core.inventory import Inventory, Node
from sparkops.core.situation import Away, Choices, Situation, Span
from sparkops.session.open import Selected
from sparkops.verbs.deploy.draft import supposed
from sparkops.verbs.preflight.observe import situation
from support.captures import probes_of
from support.paths import TESTS

TABLE = yaml.safe_load((Path(__file__).parent / "cases.yml").read_text())
_ADDRESS = re.compile(r'("local":"(?:192\.168|10\.20|169\.254)\.\d+\.)(\d+)\b')
_MAC = re.compile(r"\b(?!00:00|ff:ff)((?:[0-9a-f]{2}:){3})[0-9a-f]{2}((?::[0-9a-f]{2}){2})\b")
INVENTORY = ("become", "cache_dir", "api_port", "fabric_address")


@dataclass(frozen=True)
class Case:
    name: str
    data: Mapping[str, Any]

    @cached_property
    def situation(self) -> Situation:
        return situated(**{key: value for key, value in self.data.items() if key not in ("name", "expect", "says")})

    @property
    def expected(self) -> dict[tuple[str | None, str], str]:
        """Statuses by node (None: all together) and check."""
        return {
            (None if name == "cluster" else name, check): status
            for name, checks in self.data.get("expect", {}).items()
            for check, status in checks.items()
        }

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        known = self.situation
        return judged(known, known.placement.nodes, CHECKS)

    def alone(self) -> dict[tuple[str | None, str], tuple[str, str]]:
        """What each check says of nodes of which only its own probes were read."""
        whole, found = self.situation, list[Finding]()
        for check in CHECKS:
            kept = {name.replace("-", "_") for name in check.reads}
            facts = {name: _only(known, kept) for name, known in whole.facts.items()}
            found += judged(
                replace(whole, facts=facts), whole.placement.nodes, [check] if check.id != "answers" else []
            )
        return {(one.node, one.id): (one.status, one.message) for one in found}


def situated(
    nodes: Mapping[str, Any],
    topology: str | None = None,
    recipe: str | None = None,
    password: bool = False,
    peers: Mapping[str, str] | None = None,
    spans: Mapping[str, list[float]] | None = None,
    away: Mapping[str, Mapping[str, str]] | None = None,
    measured: Sequence[float] | None = None,
) -> Situation:
    """A situation of captures, as a preflight makes it of nodes; `measured` are Gb/s of the couples in their order."""
    members = tuple(_node(name, at, what) for at, (name, what) in enumerate(nodes.items(), start=1))
    chosen = Selected(Inventory("cases.yml", members, {}), members, None)
    draft = supposed(
        str(TESTS / recipe) if recipe and "/" in recipe else recipe,
        topology,
        chosen,
        SimpleNamespace(warn=lambda text: None),
    )  # type: ignore[arg-type]
    facts = {name: parse(capture(what, at)) for at, (name, what) in enumerate(nodes.items()) if what is not None}
    found = situation(draft, list(nodes), facts)
    pairs = zip(couples(found.fabric, found.cabling.segments), measured or (), strict=False)
    return replace(
        found,
        measured=None if measured is None else tuple(Carried(couple, gbps) for couple, gbps in pairs),
        choices=Choices(sudo_password=password),
        peers={name: _peers(text) for name, text in (peers or {}).items()},
        spans={name: Span(sent, received) for name, (sent, received) in (spans or {}).items()},
        away={name: Away(**why) for name, why in (away or {}).items()},
    )


def _only(facts: Facts, kept: set[str]) -> Facts:
    other = {name.replace("-", "_") for name in PROBES} - kept
    unknown = {name: NOT_ASKED for name in other if getattr(facts, name) != CUT_OFF}
    return replace(facts, **unknown)  # type: ignore[arg-type]


def _node(name: str, at: int, what: Any) -> Node:
    said = {key: what[key] for key in INVENTORY if isinstance(what, dict) and key in what}
    return Node(name, f"192.0.2.{at}", **said)


def _peers(text: str) -> Any:
    """Lines `EXIT NAME: TEXT` as the parts that `peers.sh` prints."""
    parts = []
    for line in text.strip().splitlines():
        head, _, said = line.partition(": ")
        code, _, name = head.partition(" ")
        parts.append(f"-- {code} {len(said)} {name}\n{said}\n")
    return peers("sparkops-peers 1\n" + "".join(parts))


def capture(what: Any, at: int = 0) -> str:
    """The whole text of a node's capture; where one stands for several nodes, each is a machine of its own."""
    if isinstance(what, str):
        what = {"capture": what}
    kept = probes_of(what["capture"])
    if not what.get("cloned"):
        kept = {name: (code, _own(name, text, at)) for name, (code, text) in kept.items()}
    for other, names in what.get("with", {}).items():
        kept |= {name: probes_of(other)[name] for name in names}
    kept |= {name: (code, text) for name, (code, text) in what.get("probes", {}).items()}
    for name, changes in what.get("lines", {}).items():
        code, text = kept[name]
        for old, new in changes.items():
            assert old in text, f"{name} of {what['capture']} has no {old!r}"
            text = text.replace(old, new)
        kept[name] = (code, text)
    for name in what.get("without", ()):
        del kept[name]
    whole = write(kept)
    return whole[: whole.index(f"== {what['cut']} ")] if "cut" in what else whole


def _own(probe: str, text: str, at: int) -> str:
    if probe == "machine-id":
        return f"{at:02}{text[2:]}"
    if probe == "hostkeys":
        return text.replace("SHA256:", f"SHA256:{at:02}")
    if probe in ("ip-addr", "net"):
        text = _MAC.sub(rf"\g<1>{at:02x}\g<2>", text)
        text = text.replace("47ff:fe2f:", f"47ff:fe{at:02x}:")
    return _ADDRESS.sub(lambda found: f"{found[1]}{int(found[2]) + at}", text) if probe == "ip-addr" else text


@pytest.fixture(scope="session")
def table() -> list[Case]:
    return [Case(data["name"], data) for data in TABLE["cases"]]


@pytest.fixture(scope="session")
def stock() -> set[str]:
    """Warnings that a stock DGX OS gets."""
    return set(TABLE["stock"])


@pytest.fixture(name="situated")
def situated_fixture() -> Callable[..., Situation]:
    return situated
