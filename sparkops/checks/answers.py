"""Whether a node could be read at all: what hangs there, and what answers garbage, is itself a finding."""

from collections.abc import Iterator

from sparkops.checks.check import Check, Here, Said, fail, good, some, warn
from sparkops.core.facts.probes import CUT_OFF

SLOW = ("no answer within its limit", "not asked again", "took too long")
GARBLED = "unexpected output"
TOLD = ("ibdev2netdev", "nvidia_smi")
"""Tools whose own words are no data where nothing is plugged in or loaded; checks of theirs tell so."""


def answered(here: Here) -> Iterator[Said]:
    unread = here.facts.unread
    cut = [name for name, why in unread.items() if why == CUT_OFF]
    slow = {name: why.reason for name, why in unread.items() if any(word in why.reason for word in SLOW)}
    repeated = unread.get("nvidia_smi")
    garbled = {
        name: why.reason
        for name, why in unread.items()
        if GARBLED in why.reason and name not in TOLD and why != repeated
    }
    if cut:
        yield fail(f"the node stopped answering: {len(cut)} values could not be read", evidence=some(cut, 8))
    if slow:
        yield warn(f"no answer in time: {some(map(_plain, slow))}", evidence=_told(slow))
    if garbled:
        yield warn(f"unreadable answers: {some(map(_plain, garbled))}", evidence=_told(garbled))
    if here.facts.took_seconds is not None:
        yield good(evidence=f"read in {here.facts.took_seconds:.1f} s")


def _plain(name: str) -> str:
    return name.replace("_", "-")


def _told(reasons: dict[str, str]) -> str:
    return "; ".join(f"{_plain(name)}: {reason}" for name, reason in reasons.items())


CHECKS = (
    Check(
        id="answers",
        title="Every probe gave an answer",
        why=(
            "Each probe has its own time limit on the node, so a probe that hangs costs seconds. What it should have "
            "read is unknown."
        ),
        source="sparkops: node/facts.sh, 10 s a probe, 40 s in all",
        hint="run the named command on the node; if it hangs there too: sudo reboot",
        severity="fail",
        reads=("clock",),
        each=answered,
        deploys=True,
    ),
)
