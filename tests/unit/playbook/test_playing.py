"""Plays of steps, run for real: what is sent where, what is left out, and how the recap counts it.

Each playbook of `playing.txt` is played once, or as its lines `$ …` say (EVENTS). Below stand how that ended and to
which nodes commands went in turn; then of each node what it was sent, what happened there, its recap and its files;
nodes that did the same stand together.
"""

import os
import stat
import subprocess
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from sparkops.core.inventory import Node
from sparkops.core.plan import Command, Event, NodeLost, Result, Script, shown
from sparkops.core.playbook.recap import Recap, recap, total
from sparkops.core.playbook.values import StepsPlay
from sparkops.phases.operator import as_check, compile_play
from sparkops.remote.execute import execute
from sparkops.remote.frame import script_text
from support import golden
from support.values import told


@dataclass
class Homes:
    """A world of nodes that are directories here: commands really run, in a shell of this machine, one after the other.

    `away` are nodes that nobody reaches; `sent` is every command that went out, as (node, words as a plan shows them).
    """

    place: Path
    nodes: tuple[Node, ...]
    away: set[str] = field(default_factory=set)
    sent: list[tuple[str, str]] = field(default_factory=list)
    clock: float = 0.0

    def send(self, node: str, command: Command, cancel: threading.Event) -> Result:
        if node in self.away:
            raise NodeLost(node, "no route to host", sent=False)
        self.sent.append((node, shown(command.words)))
        words: list[str] = []
        for one in command.words:
            text = script_text(one.name) if isinstance(one, Script) else ""
            words += ["sh", "-c", text, one.name] if isinstance(one, Script) else [one]
        home = self.place / node
        done = subprocess.run(
            words, input=str(command.stdin or ""), capture_output=True, text=True, check=False, cwd=home,
            env={**os.environ, "HOME": str(home)}, timeout=120, umask=0o022,
        )  # fmt: skip
        return Result("exited", done.returncode, done.stdout, done.stderr)

    def now(self) -> float:
        return self.clock

    def pause(self, seconds: float, cancel: threading.Event) -> None:
        self.clock += seconds

    def held(self) -> AbstractContextManager[None]:
        return nullcontext()

    def each(self, tasks: Mapping[str, Callable[[threading.Event], None]], cancel: threading.Event) -> None:
        for task in tasks.values():
            task(cancel)

    def cancel(self) -> threading.Event:
        return threading.Event()

    def play(self, play: StepsPlay, check: bool) -> Iterator[str]:
        """Run it or check it, and tell what came of it."""
        names = {node.name: {**play.vars, "facts": {"dmi": {}}, "node": asdict(node)} for node in self.nodes}
        plan = compile_play(play, self.nodes, names, {})
        events: list[Event] = []
        self.sent.clear()
        outcome = execute(as_check(plan) if check else plan, self, events.append)
        yield f"{outcome.status} after {self.clock:.0f} seconds; sent to {' '.join(node for node, _ in self.sent)}"
        alike = defaultdict[tuple[str, ...], list[str]](list)
        for node, counted in recap(plan, events).items():
            sent = [f"    > {words}" for name, words in self.sent if name == node]
            came = [f"    {happened(event)}" for event in events if event.node == node and event.kind != "start"]
            files = [f"    {file_line(path)}" for path in sorted((self.place / node).iterdir())]
            alike[told(counted), *sent, *came, *files].append(node)
        for (counts, *lines), nodes in alike.items():
            yield from (f"{', '.join(nodes)}: {counts}", *lines)


def happened(event: Event) -> str:
    return ": ".join(filter(None, (event.kind, event.title, event.text.replace("\n", " | "))))


def file_line(path: Path) -> str:
    return f"{stat.S_IMODE(path.stat().st_mode):o} {path.name} {told(path.read_text())}"


def touch(path: Path) -> None:
    path.touch()
    path.chmod(0o644)


EVENTS: dict[str, Callable[[Homes, str], object]] = {
    "away": lambda homes, node: homes.away.add(node),
    "touch": lambda homes, path: touch(homes.place / path),
    "chmod": lambda homes, path: (homes.place / path).chmod(0o644),
}


def played(read: Callable[..., Any], places: Iterator[Path], block: str) -> str:
    """A playbook on three fresh nodes."""
    place, lines = next(places), block.splitlines()
    (play,) = read("\n".join(line for line in lines if not line.startswith("$ ")), {"a.txt": "{{ raw }}\n"}).plays
    nodes = tuple(Node(f"spark{number}", f"10.0.0.{number}") for number in (1, 2, 3))
    for node in nodes:
        (place / node.name).mkdir(parents=True)
    homes, shown = Homes(place, nodes), list[str]()
    events = [line.split(maxsplit=2)[1:] for line in lines if line.startswith("$ ")]
    for event, *words in [*events, *([] if ["play"] in events or ["check"] in events else [["play"]])]:
        if event in EVENTS:
            EVENTS[event](homes, *words)
        else:
            shown += homes.play(play, check=event == "check")
    return "\n".join(shown).replace(str(place), "HOMES")


def test_plays_come_out_as_their_file_says(read: Callable[..., Any], tmp_path: Path) -> None:
    places = (tmp_path / str(number) for number in count())
    golden.hold_blocks(Path(__file__).parent / "playing.txt", lambda block: golden.refusal(played, read, places, block))


def test_recaps_of_plays_add_up() -> None:
    first, second = {"a": Recap(ok=1), "b": Recap(failed=1)}, {"a": Recap(changed=2)}
    assert total([first, second]) == {"a": Recap(ok=1, changed=2), "b": Recap(failed=1)}
    assert [name for name, one in total([first, second]).items() if one.bad] == ["b"]
    assert Recap(unreachable=1).bad
    assert not Recap(ignored=1, changed=1).bad
