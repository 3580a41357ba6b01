"""Open a session: the inventory, the selected nodes, one connection to each."""

import getpass
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from sparkops.core.inventory import Inventory, Node
from sparkops.core.target import Target
from sparkops.errors import BUG, Interrupted, Refused, SparkopsError, StepFailed
from sparkops.files import inventory as load_inventory
from sparkops.remote.gather import connect
from sparkops.remote.network import network
from sparkops.remote.ssh import Options
from sparkops.remote.trust import known_hosts_file
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.session import Session


@dataclass(frozen=True)
class Selected:
    """The inventory and the nodes that `--limit` names; nothing is connected yet."""

    inventory: Inventory
    nodes: tuple[Node, ...]
    sudo_password: str | None
    wait: float = 0.0


def selected(where: Target, report: Report, *, quiet: bool = False) -> Selected:
    """The nodes that a command line means; with `quiet`, no warning of what the inventory has besides."""
    inventory = load_inventory.inventory(where.inventory)
    for warning in inventory.warnings if not quiet else ():
        report.warn(warning)
    return Selected(inventory, inventory.select(where.limit), where.become_password, where.wait)


def alone(chosen: Selected) -> Selected:
    """Connect only to the selected nodes, so that another one that is off does not matter."""
    return replace(chosen, inventory=replace(chosen.inventory, nodes=chosen.nodes))


@contextmanager
def opened(chosen: Selected, report: Report) -> Iterator[Session]:
    """One connection to each node of the inventory, opened by the first command, closed at the end.

    Locks are held until the exit code of the run is known, for the nodes' history, or until its next session.
    """
    report.leave()
    report.done = None
    secrets: dict[str, str] = {}
    report.hide(chosen.sudo_password)
    inventory = chosen.inventory
    with ExitStack() as stack:
        options = login(inventory.source, chosen.sudo_password, secrets)
        fleet = stack.enter_context(network().fleet(inventory.nodes, options))
        by_password = chosen.sudo_password is not None
        session = Session(inventory, chosen.nodes, fleet, report, secrets, sudo_password=by_password, wait=chosen.wait)
        try:
            yield session
        except BaseException as error:
            failure = _failure(error, session)
            session.end(*_code(failure))
            if failure is error:
                raise
            raise failure from error
        if session.locked:
            report.on_leave(partial(_end, session, stack.pop_all()))


def _failure(error: BaseException, session: Session) -> BaseException:
    """The error, but `StepFailed` for one whose exit code 3 would promise that nothing was changed.

    An interrupt before the first change says so.
    """
    if isinstance(error, KeyboardInterrupt) and session.locked:
        error = Interrupted(hint=session.report.done)
    if isinstance(error, Interrupted) and session.locked and not session.changed:
        error.rolled_back = error.rolled_back or "Nothing was changed."
    if isinstance(error, Refused) and session.changed:
        return StepFailed(error.message, node=error.node, hint=error.hint)
    return error


def _code(error: BaseException) -> tuple[int, str]:
    if isinstance(error, SparkopsError):
        return error.exit_code, error.message
    interrupted = isinstance(error, KeyboardInterrupt)
    return (Interrupted.exit_code, "interrupted") if interrupted else (BUG, type(error).__name__)


def _end(session: Session, connections: ExitStack, answer: Answer | None) -> None:
    """Note the end and disconnect; without an answer, what came of the session's own plans counts."""
    with connections:
        if answer is None:
            session.end(session.trouble, "")
        else:
            session.end(answer.code, answer.error.message if answer.error else "")


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
