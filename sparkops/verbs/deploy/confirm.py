"""Warnings after a successful deploy."""

from sparkops.core.effective import Effective
from sparkops.core.enginelog import mxfp4_backend
from sparkops.core.plan import Result
from sparkops.core.revision import SPEC, Revision
from sparkops.core.situation import Situation
from sparkops.node_commands import scripts
from sparkops.phases.orphans import missing
from sparkops.phases.prepare import API_KEY
from sparkops.rules.rule import is_mxfp4
from sparkops.session.reachability import ask_from_here
from sparkops.session.session import Session
from sparkops.verbs.deploy.compile import Compiled

BOOT_LINES = 2000
"""More lines than a boot logs. A server of many days may have lost its boot log; then there is no warning."""


def confirm(compiled: Compiled, session: Session) -> list[str]:
    """Print and return the warnings. An interrupt undoes nothing: the deployment serves already."""
    revision = compiled.situation.revision
    session.report.done = f"{serves(revision)}; not checked: vLLM's kernels, access from this machine"
    engine = compiled.draft.effective if compiled.plan.changes else None
    warnings = doubts(compiled.situation, session, session.secrets.get(API_KEY.name, ""), engine)
    session.report.done = serves(revision)
    for warning in warnings:
        session.report.warn(warning)
    return warnings


def doubts(situation: Situation, session: Session, key: str, engine: Effective | None) -> list[str]:
    """What the deploy could not ensure; `engine` has the settings with which it started one."""
    return [
        *older(situation),
        *out_of_reach(situation),
        *(by_marlin(session, engine, situation.revision) if engine else ()),
        *ask_from_here(situation.revision, key),
    ]


def serves(revision: Revision) -> str:
    return f"{revision.deployment} is deployed and serves"


def older(situation: Situation) -> list[str]:
    """Warn of kept containers that this version of sparkops would start differently."""
    found = {m.name: situation.existing(m) for m in situation.revision.members if situation.todo(m) == "keep"}
    names = [name for name, container in found.items() if container and (container.spec or 0) < SPEC]
    reason = "an older version of sparkops started this; replace it: `sparkops deploy --refresh`"
    return [f"{', '.join(names)}: {reason}"] if names else []


def out_of_reach(situation: Situation) -> list[str]:
    """Warn of replaced containers that may still run, because their node did not answer."""
    replaced = {stored.hash: stored for _, stored, _ in situation.replaced}
    return [
        f"{member.name} ({member.address}) was not reached and may still run {stored.container(member)}; the next "
        "`deploy` or `stop` that reaches the node stops it"
        for stored in replaced.values()
        for member in missing(situation.facts, stored)
    ]


def by_marlin(session: Session, effective: Effective, revision: Revision) -> list[str]:
    """Warn of each engine that fell back to the Marlin kernels unasked."""
    if not _should_not(effective):
        return []
    wanted = {m.name: scripts.logs(revision.container(m), BOOT_LINES) for m in revision.engines if m.port is not None}
    text = "vLLM uses the Marlin kernels (about half as fast as CUTLASS); read `sparkops rules marlin-fallback`"
    answers = {node: result for node, result in session.ask(wanted).items() if isinstance(result, Result)}
    logs = {node: [*result.stdout.splitlines(), *result.stderr.splitlines()] for node, result in answers.items()}
    return [f"{node}: {text}" for node, lines in logs.items() if mxfp4_backend(lines) == "MARLIN"]


def _should_not(effective: Effective) -> bool:
    chosen = {str(effective.value(name, "")).upper() for name in ("mxfp4-backend", "moe-backend")}
    return is_mxfp4(effective) and "MARLIN" not in chosen
