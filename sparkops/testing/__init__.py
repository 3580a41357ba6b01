"""Simulated nodes to try plans, recipes and playbooks on, with scheduled failures.

    world = SimulatedWorld(("spark1", "spark2"), seed=7, troubles=(Trouble("lost-applied", at=12),))
    outcome = execute(plan, world, emit)

Equal seeds give equal runs. Nothing here opens a socket or a process, nor a file but one that a command uploads.
"""

from sparkops.testing.boot import BootRule, EngineBoot
from sparkops.testing.engine import Engine, SimulatedContainer
from sparkops.testing.node import SimulatedNode
from sparkops.testing.schedule import Crash
from sparkops.testing.scripts import COMMANDS, SCRIPTS, Handler
from sparkops.testing.world import Sent, SimulatedWorld, Trouble

__all__ = [
    "COMMANDS",
    "SCRIPTS",
    "BootRule",
    "Crash",
    "Engine",
    "EngineBoot",
    "Handler",
    "Sent",
    "SimulatedContainer",
    "SimulatedNode",
    "SimulatedWorld",
    "Trouble",
]
