"""One experiment: deploys and measures each topology, then restores what served before."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from sparkops.core import topology
from sparkops.core.bench.experiment import Before, Experiment, id_of
from sparkops.core.bench.record import Record
from sparkops.core.bench.suites import Suite
from sparkops.core.facts import Facts
from sparkops.core.history import settled_since
from sparkops.core.revision import deployment_name
from sparkops.core.target import Target
from sparkops.errors import Interrupted, Locked, Refused, SparkopsError, StepFailed, UsageError
from sparkops.files import bench_records, experiment_records
from sparkops.phases.parts import DeployedRevision, deployed_revisions
from sparkops.remote.network import network
from sparkops.report.report import Report
from sparkops.session.find_deployment import on_selected
from sparkops.session.open import reached, selected
from sparkops.session.session import Session
from sparkops.verbs.bench.options import TopologiesOptions
from sparkops.verbs.bench.run import run_on, suite_of
from sparkops.verbs.deploy.options import PlanOptions, RollbackOptions, StopOptions
from sparkops.verbs.deploy.rollback import rollback
from sparkops.verbs.deploy.run import deploy
from sparkops.verbs.deploy.stop import stop


@dataclass(frozen=True)
class Restored:
    """Titles of the restored deployments, or why they could not be restored."""

    titles: tuple[str, ...] = ()
    error: SparkopsError | None = None


@dataclass
class ExperimentRunner:
    """`records` and `failed` are by topology. `known` are the hashes that ran when it began or that it deployed."""

    options: TopologiesOptions
    report: Report
    suite: Suite
    recipe: str
    experiment: Experiment
    before: Before
    known: set[str]
    records: dict[str, Record] = field(default_factory=dict)
    failed: dict[str, SparkopsError] = field(default_factory=dict)

    def measure(self) -> None:
        """Measure each topology; record failures and continue."""
        for wanted in self.options.topologies:
            try:
                self.records[wanted] = self._measured(wanted)
            except (Interrupted, UsageError):
                raise
            except SparkopsError as error:
                self.failed[wanted] = error
                self.report.warn(f"{wanted}: not measured: {error.message}")

    def bring_back(self) -> Restored:
        """Restore what served before; forget the experiment if it is complete."""
        restored = self._restored()
        if restored.error:
            self.report.warn(restored.error.message)
        elif len(self.records) == len(self.options.topologies):
            experiment_records.forget(self.experiment)
        else:
            experiment_records.keep(replace(self.experiment, owed=None))
        return restored

    def _measured(self, wanted: str) -> Record:
        where = nodes_of(wanted, self.options.bench.where, self.report)
        known = next(self._records(wanted, where), None)
        if known is not None and known.ok:
            self.report.note(f"topology {wanted}: already measured as {known.id}")
            return known
        self.report.note(f"topology {wanted}")
        made = self._deployed(wanted, where)
        same = known is not None and known.lock is not None and known.lock["hash"] == made["hash"]
        resume = known.id if known is not None and same else None
        name = str(made["deployment"])
        asked = replace(self.options.bench, where=where, label=wanted, deployment=name, resume=resume)
        every = selected(self.options.bench.where, self.report, quiet=True).nodes
        with reached(where, self.report) as session:
            session.deployment = name
            session.lock(node.name for node in every)  # nobody else may begin where another topology goes
            record = run_on(asked, self.suite, session)
        if not record.ok:
            hint = f"its numbers so far: `sparkops bench show {record.id}`"
            raise StepFailed(f"no valid result: {record.all_problems[0]}", hint=hint)
        return record

    def _deployed(self, wanted: str, where: Target) -> Mapping[str, Any]:
        """Deploy it, unless that would stop what somebody else deployed since the experiment began."""
        asked = replace(plan(wanted, where, self.options, self.before), only=frozenset(self.known))
        try:
            made = deploy(asked, self.report).document
        except (Locked, Refused, UsageError):
            raise
        except BaseException:  # what could not be undone is of this experiment, too
            self.known |= {
                one.stored.hash for one in running(where, self.report) if is_ours(one, self.recipe, (wanted,))
            }
            raise
        self.known.add(str(made["hash"]))
        return made

    def _restored(self) -> Restored:
        """Restore what served before; stop what serves in addition, if it is of this experiment."""
        titles, due, now = self.before.titles, frozenset(self.before.hashes), frozenset[str]()
        where, report = self.options.bench.where, self.report
        report.note(f"restoring {', '.join(titles)}" if titles else "nothing to restore: nothing ran before")
        try:
            now = frozenset(one.stored.hash for one in running(where, report))
            if due - now:
                rollback(RollbackOptions(where, to=due, only=frozenset(self.known)), report)
            if extra := now & self.known - due:
                stop(StopOptions(where, only=extra), report)
        except (SparkopsError, KeyboardInterrupt) as error:
            told = "what served before could not be restored"
            back = ", then ".join(f"`sparkops rollback --to {digest[:8]}`" for digest in sorted(due - now))
            hint = back or "see what serves, and stop what served only for the benchmark: `sparkops status`"
            if isinstance(error, Interrupted | KeyboardInterrupt):
                return Restored(error=Interrupted(told, hint=hint))
            return Restored(error=StepFailed(f"{told}: {error.message}", node=error.node, hint=hint))
        if due == now:
            self._settle()
        return Restored(titles)

    def _settle(self) -> None:
        """Note that what a killed run of the experiment left is settled, although there was nothing to restore."""
        name = deployment_name(self.recipe)
        with reached(self.options.bench.where, self.report) as session:
            session.containers()
            cut = [run for run in session.cut_off if run.begin.verb == self.report.verb]
            if any(name in (run.begin.deployment, *run.left) for run in cut):
                session.settled = (name,)
                try:
                    session.lock(session.names)
                except Locked as held:
                    self.report.warn(f"`sparkops status` goes on naming the run that was cut off: {held.message}")

    def _records(self, wanted: str, where: Target) -> Iterator[Record]:
        """Yield the records of this topology from before an interrupt, newest first."""
        names = {node.name for node in selected(where, self.report).nodes}
        for one in bench_records.since(self.experiment.began):
            lock = one.lock or {"revision": {}, "nodes": {}}
            placed = (lock["revision"].get("topology"), lock["revision"].get("recipe")) == (wanted, self.recipe)
            if placed and one.suite == self.suite and set(lock["nodes"]) <= names and one.state != "failed":
                yield one


def begun(options: TopologiesOptions, recipe: str, report: Report) -> ExperimentRunner:
    """Return a new experiment, or the interrupted one of an equal command."""
    suite, where = suite_of(options.bench), options.bench.where
    nodes = [(node.name, node.address) for node in selected(where, report).nodes]
    question = {"recipe": recipe, "topologies": options.topologies, "suite": asdict(suite), "nodes": nodes}
    name = id_of({**question, "on": options.bench.on})
    known = experiment_records.find(name)
    with reached(where, report) as session:
        facts = session.containers()
        runs = _running(session, facts)
        past = [known.history for node, known in facts.items() if node in session.names]
    since = settled_since(past, report.verb, deployment_name(recipe))
    ours = not since and all(is_ours(one, recipe, options.topologies) for one in runs)
    wanted = _owed(known, runs, report, ours=ours)
    began = f"{datetime.fromtimestamp(network().clock(), UTC):%Y%m%dT%H%M%SZ}"
    if known and not options.anew:
        began = known.began
        report.note(f"continuing the interrupted run of {began}; use --anew to start over")
    experiment = Experiment(name, began, wanted)
    experiment_records.keep(experiment)
    hashes = {*wanted.hashes, *(one.stored.hash for one in runs)}
    return ExperimentRunner(options, report, suite, recipe, experiment, wanted, hashes)


def _owed(known: Experiment | None, runs: list[DeployedRevision], report: Report, *, ours: bool) -> Before:
    """Return what must serve at the end: what serves now, or if that is `ours`, what a killed experiment stopped."""
    now = before(runs)
    if known is None or known.owed is None or known.owed == now:
        return now
    titles = ", ".join(known.owed.titles) or "nothing"
    if ours:
        report.note(f"at the end sparkops restores what served before: {titles}")
        return known.owed
    back = " and ".join(f"`sparkops rollback --to {digest[:8]}`" for digest in known.owed.hashes)
    report.warn(
        "what served before the interrupted run is not restored, because something was deployed or stopped since: "
        f"{titles}; {back}"
    )
    return now


def is_ours(one: DeployedRevision, recipe: str, topologies: Sequence[str]) -> bool:
    """Whether an experiment with this recipe may have deployed it."""
    stored = one.stored
    named = (stored.deployment, stored.recipe) == (deployment_name(recipe), recipe)
    return named and stored.topology in topologies


def plan(wanted: str, where: Target, options: TopologiesOptions, kept: Before) -> PlanOptions:
    """Return the options of a deploy without the recipe's own benchmark."""
    return PlanOptions(where, wanted, options.recipe, keep=frozenset(kept.hashes), bench="")


def nodes_of(wanted: str, where: Target, report: Report) -> Target:
    """Limit a topology of N nodes to the first N selected."""
    asked = topology.parse(wanted)
    names = [node.name for node in selected(where, report).nodes]
    return where if asked.kind == "cluster" else replace(where, limit=",".join(names[: asked.copies]))


def running(where: Target, report: Report) -> list[DeployedRevision]:
    """Return every revision that runs on these nodes; what runs only on others is not touched."""
    with reached(where, report) as session:
        return _running(session, session.containers())


def _running(session: Session, facts: Mapping[str, Facts]) -> list[DeployedRevision]:
    return [one for one in on_selected(session, deployed_revisions(facts), None) if one.runs]


def before(runs: list[DeployedRevision]) -> Before:
    """What to bring back after the experiment: hashes for sparkops, titles for people."""
    return Before(tuple(sorted(one.stored.hash for one in runs)), tuple(one.title for one in runs))
