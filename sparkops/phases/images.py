"""Plans that build or pull one image on one node, as background jobs."""

from collections.abc import Iterator
from dataclasses import dataclass

from sparkops.core.build import LABEL, Build, job_id
from sparkops.core.facts import Facts, Left
from sparkops.core.plan import Action, Command, Plan, Secret, Step, Wait
from sparkops.core.situation import state_dir
from sparkops.node_commands import images as commands
from sparkops.phases.steps import plan, step

CONTEXT = Secret("build-context")
PASSWORD = Secret("registry-password")
QUIET = 3600.0
"""Seconds without a new log line after which a build or pull is no longer waited for."""


@dataclass(frozen=True)
class Building:
    """A build on a node; `digest` is over all that goes into it."""

    build: Build
    node: str
    digest: str

    @property
    def job(self) -> str:
        return job_id("build", self.build.image, self.digest)


def compile_build(wanted: Building, facts: Facts) -> Plan:
    """Send the context, start the job and wait for it; if it runs already, only wait."""
    phases = {"send the context": _context(wanted, facts), "build the image": [_build(wanted, facts)]}
    return plan("image build", phases, on_failure="stop")


def _context(wanted: Building, facts: Facts) -> Iterator[Step]:
    if wanted.build.git is None and wanted.job not in running(facts):
        send = commands.context(state_dir(facts), wanted.job, CONTEXT)
        yield step(f"context.{wanted.node}", wanted.node, "send the build context", send)


def _build(wanted: Building, facts: Facts) -> Step:
    build = wanted.build
    label = f"{LABEL}={wanted.digest}"
    words = build.words
    if words[:2] == ("docker", "build"):
        words = (*words[:-1], "--label", label, words[-1])
    source = (build.git or "", build.commit or "")
    start = commands.build(state_dir(facts), wanted.job, build.image, label, source, words)
    work = detached(wanted.job, start, until_done(wanted.job), facts)
    return step(f"build.{wanted.node}", wanted.node, f"build {build.image}", work)


def compile_pull(node: str, facts: Facts, reference: str, tag: str, registry: str, user: str | None) -> Plan:
    """Log in if needed, start the job and wait for it; if it runs already, only wait."""
    job = job_id("pull", reference)
    steps = []
    if user and job not in running(facts):
        login = commands.login(state_dir(facts), job, registry, user, PASSWORD)
        steps.append(step(f"login.{node}", node, f"log in to {registry or 'Docker Hub'}", login))
    fetch = commands.pull(state_dir(facts), job, reference, tag, user)
    work = detached(job, fetch, until_done(job), facts)
    steps.append(step(f"pull.{node}", node, f"pull {reference}", work))
    return plan("image pull", {"pull the image": steps}, on_failure="stop")


def detached(job: str, begin: Command, wait: Wait, facts: Facts) -> Action:
    """Start a job and wait for it; if it runs already, only wait.

    No start command is sent for a running job: if the job ended first, a second one would lack the files of the first.
    """
    return Action(None if job in running(facts) else begin, wait)


def until_done(job: str, stall: float = QUIET, every: float = 1.0) -> Wait:
    return Wait(commands.job_probe(job), every=every, stall=stall, deadline=float(commands.BUILD_SECONDS))


def running(facts: Facts) -> frozenset[str]:
    """IDs of the jobs that run on the node."""
    return frozenset(job.id for job in facts.state.jobs if job.alive) if isinstance(facts.state, Left) else frozenset()
