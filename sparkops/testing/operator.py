"""A person before simulated nodes: the real verbs, from recipe to verdict, over a SimulatedWorld instead of SSH."""

from __future__ import annotations

import io
from collections.abc import Mapping

from sparkops.asks import (
    Answer,
    KeyOptions,
    LogsOptions,
    PlanOptions,
    RollbackOptions,
    StatusOptions,
    StopOptions,
    Where,
)
from sparkops.asks.caches import CleanupOptions, DropOptions, ScheduleOptions
from sparkops.core.findings import Finding
from sparkops.core.inventory import Inventory, Node
from sparkops.core.plan import Plan
from sparkops.core.schedule import Schedule
from sparkops.report.report import Report
from sparkops.testing.world import SimulatedWorld
from sparkops.workflows.cache import drop_on, schedule_on
from sparkops.workflows.cache import status_on as schedules_on
from sparkops.workflows.cleanup import cleanup_on
from sparkops.workflows.deploy import carry_out, compiled
from sparkops.workflows.draft import drafted
from sparkops.workflows.keys import key_on
from sparkops.workflows.look import logs_on
from sparkops.workflows.session import Selected, Session
from sparkops.workflows.status import status_on
from sparkops.workflows.stop import rollback_on, stop_on

SIMULATED = Where(inventory="simulated")


class Operator:
    """Each verb is one run with a lock of its own; errors are raised as the command line would show them.

    `limit` is what `--limit` says.
    """

    def __init__(self, world: SimulatedWorld, limit: str | None = None) -> None:
        self.world = world
        nodes = tuple(Node(name, node.address) for name, node in world.nodes.items())
        inventory = Inventory("simulated", nodes, {})
        self.chosen = Selected(inventory, nodes if limit is None else inventory.select(limit), None)
        self._runs = 0

    def plan(self, topology: str, **options: object) -> Plan:
        asked = self._asked(topology, options)
        return compiled(asked, self._session("plan"), drafted(asked, self.chosen, self._report("plan"))).plan

    def found(self, topology: str, **options: object) -> tuple[Finding, ...]:
        """What rules and checks hold against it."""
        asked = self._asked(topology, options)
        return compiled(asked, self._session("plan"), drafted(asked, self.chosen, self._report("plan"))).findings

    def deploy(self, topology: str, **options: object) -> Plan:
        """What was executed."""
        asked = self._asked(topology, options)
        session = self._session("deploy")
        try:
            return carry_out(asked, session, drafted(asked, self.chosen, session.report)).plan
        finally:
            self._free()

    def stop(self, deployment: str | None = None) -> Answer:
        try:
            return stop_on(StopOptions(SIMULATED, deployment), self._session("stop"))
        finally:
            self._free()

    def rollback(self) -> Answer:
        try:
            return rollback_on(RollbackOptions(SIMULATED), self._session("rollback"))
        finally:
            self._free()

    def rotate(self, deployment: str | None = None) -> Answer:
        try:
            return key_on(KeyOptions(SIMULATED, deployment, rotate=True), self._session("key rotate"))
        finally:
            self._free()

    def drop(self) -> Answer:
        return drop_on(DropOptions(SIMULATED), self._session("cache drop"))

    def schedule(self, every: int | None) -> Answer:
        """None takes it away."""
        wanted = Schedule(every) if every else None
        try:
            return schedule_on(ScheduleOptions(SIMULATED, wanted), self._session("cache schedule"))
        finally:
            self._free()

    def cache_status(self) -> Answer:
        return schedules_on(self._session("cache status"))

    def cleanup(self) -> Answer:
        try:
            return cleanup_on(CleanupOptions(SIMULATED, yes=True), self._session("cleanup"))
        finally:
            self._free()

    def key(self) -> str:
        return str(key_on(KeyOptions(SIMULATED), self._session("key")).document["key"])

    def logs(self, deployment: str | None = None) -> Answer:
        return logs_on(LogsOptions(SIMULATED, deployment), self._session("logs"))

    def status(self) -> Mapping[str, str]:
        """State by deployment."""
        answer = status_on(StatusOptions(SIMULATED), self._session("status"))
        return {entry["name"]: entry["state"] for entry in answer.document["deployments"]}

    def _asked(self, topology: str, options: Mapping[str, object]) -> PlanOptions:
        return PlanOptions(SIMULATED, topology, **options)  # type: ignore[arg-type]

    def _session(self, verb: str) -> Session:
        secrets: dict[str, str] = {}
        self.world.secrets = secrets
        session = Session(self.chosen.inventory, self.chosen.nodes, self.world, self._report(verb), secrets)
        session.away.update(self.world.connect())
        return session

    def _report(self, verb: str) -> Report:
        self._runs += 1
        return Report(verb, run=f"{verb}-{self._runs}", out=io.StringIO(), err=io.StringIO())

    def _free(self) -> None:
        if not self.world.dead:
            self.world.close()
