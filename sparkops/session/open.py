"""Open a session: the inventory, the selected nodes, one connection to each."""

import getpass
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from sparkops.core.inventory import Inventory, Node
from sparkops.core.target import Target
from sparkops.errors import Refused, StepFailed
from sparkops.files import inventory as load_inventory
from sparkops.remote.gather import connect
from sparkops.remote.network import network
from sparkops.remote.ssh import Options
from sparkops.remote.trust import known_hosts_file
from sparkops.report.report import Report
from sparkops.session.session import Session


@dataclass(frozen=True)
class Selected:
    """The inventory and the nodes that `--limit` names; nothing is connected yet."""

    inventory: Inventory
    nodes: tuple[Node, ...]
    sudo_password: str | None


def selected(where: Target, report: Report) -> Selected:
    inventory = load_inventory.inventory(where.inventory)
    for warning in inventory.warnings:
        report.warn(warning)
    return Selected(inventory, inventory.select(where.limit), where.become_password)


def alone(chosen: Selected) -> Selected:
    """Connect only to the selected nodes, so that another one that is off does not matter."""
    return replace(chosen, inventory=replace(chosen.inventory, nodes=chosen.nodes))


@contextmanager
def opened(chosen: Selected, report: Report) -> Iterator[Session]:
    """One connection to each node of the inventory, opened by the first command, closed at the end."""
    secrets: dict[str, str] = {}
    report.hide(chosen.sudo_password)
    inventory = chosen.inventory
    with network().fleet(inventory.nodes, login(inventory.source, chosen.sudo_password, secrets)) as fleet:
        session = Session(
            inventory, chosen.nodes, fleet, report, secrets, sudo_password=chosen.sudo_password is not None
        )
        try:
            yield session
        except Refused as error:
            if not session.changed:
                raise
            # Exit code 3 promises that nothing was changed.
            raise StepFailed(error.message, node=error.node, hint=error.hint) from error


@contextmanager
def connected(chosen: Selected, report: Report) -> Iterator[Session]:
    """A session connected to every node, so that `away` is known before the first command."""
    with opened(chosen, report) as session:
        session.away.update(connect(session.fleet, session.nodes))
        yield session


@contextmanager
def reached(where: Target, report: Report) -> Iterator[Session]:
    """Read the inventory, select the nodes and connect to all of them."""
    with connected(selected(where, report), report) as session:
        yield session


def login(inventory: str, sudo_password: str | None, secrets: Mapping[str, str]) -> Options:
    """How this user logs in: keys and `~/.ssh/config` of the home, host keys pinned beside the inventory."""
    home = Path.home()
    return Options(
        login=getpass.getuser(),
        home=home,
        known_hosts=(known_hosts_file(inventory), home / ".ssh" / "known_hosts"),
        ssh_config=Path(os.environ.get("SPARKOPS_SSH_CONFIG") or home / ".ssh" / "config"),
        sudo_password=sudo_password,
        secrets=secrets,
    )
