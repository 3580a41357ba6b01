"""A person before simulated nodes who plans: from recipe to verdict, over a SimulatedWorld instead of SSH."""

from __future__ import annotations

import io

from sparkops.asks import PlanOptions, Where
from sparkops.core.inventory import Inventory, Node
from sparkops.core.plan import Plan
from sparkops.report.report import Report
from sparkops.testing.world import SimulatedWorld
from sparkops.workflows.deploy import compiled
from sparkops.workflows.draft import drafted
from sparkops.workflows.session import Selected, Session


class Operator:
    """Errors are raised as the command line would show them."""

    def __init__(self, world: SimulatedWorld) -> None:
        self.world = world

    def plan(self, topology: str) -> Plan:
        asked = PlanOptions(Where(inventory="simulated"), topology)
        nodes = tuple(Node(name, node.address) for name, node in self.world.nodes.items())
        chosen = Selected(Inventory("simulated", nodes, {}), nodes, None)
        report = Report("plan", run="plan-1", out=io.StringIO(), err=io.StringIO())
        session = Session(chosen.inventory, chosen.nodes, self.world, report, {})
        return compiled(asked, session, drafted(asked, chosen, report)).plan
