"""Evenings at the terminal: lines that are typed, what happens to the nodes meanwhile, and what comes out.

Before a line stands what it is:
`$`  typed behind `sparkops`, after NAME=VALUE for its environment. Below stand what the tool printed, its exit code
     where that is not 0, and the commands that changed something on a node
`$-` the same where only what went wrong matters: errors, warnings, what to do next, the exit code
`!`  happens to the nodes or to this machine (EVENTS)
`?`  what an onlooker sees (VIEWS); `? asked` is the nodes that were asked anything by the last line
`#`  a remark
"""

import json
import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from pathlib import Path
from textwrap import indent

from sparkops.testing import SCRIPTS, BootRule, Crash, EngineBoot, SimulatedContainer, Trouble
from sparkops.testing.node import EPOCH
from sparkops.testing.scripts import said
from sparkops.testing.upkeep import CRONTAB
from support.paths import RULE_RECIPES
from support.world import Lab

LAST_WORDS = ("INFO loading", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB")
OURS = ["label=sparkops.schema"]
WRONG = ("error: ", "cause: ", "Rolled back", "next: ", "warning: ", "[exit ", "[killed]")
ASSIGNED = re.compile(r"[A-Z_]+=")


class Evening:
    """What is typed in `home`; `! fresh` begins with other nodes and an empty home."""

    def __init__(self, home: Path, nodes: int = 2) -> None:
        self.home = home
        self.begun = 0
        self.lab: Lab
        self.fresh(nodes)

    def fresh(self, nodes: int) -> None:
        self.begun += 1
        self.lab = Lab(self.home / str(self.begun), nodes)
        self.inventory = {name: {"address": node.address} for name, node in self.lab.world.nodes.items()}
        self.numbers: dict[str, int] = {}
        self.keys: dict[str, str] = {}
        self.records: dict[str, int] = {}
        self.mends: list[Callable[[], object]] = []
        self.told = ""

    def after(self, line: str) -> str:
        """The line and what came of it."""
        kind, _, rest = line.partition(" ")
        if kind == "#":
            return f"{line}\n"
        words = shlex.split(rest)
        if kind == "!":
            EVENTS[words[0]](self, *words[1:])
            return f"{line}\n"
        came = self.seen(*words) if kind == "?" else self.typed(words, quiet=kind == "$-")
        return f"{line}\n{indent(self.steady(came), '    ')}\n"

    def typed(self, words: list[str], quiet: bool) -> str:
        env = dict(word.split("=", 1) for word in takewhile(ASSIGNED.match, words))
        words = words[len(env) :]
        self.lab.mark()
        try:  # a path of the same length on every machine
            ran = self.lab.cli("-i", "../inventory.yml", *words, lab=False, code=None, **env)
            self.told, code = ran.told, ran.code
            told = ran.told + (f"[exit {code}]\n" if code else "")
        except Crash:
            self.told = told = "[killed]\n"
            self.lab.anew()
        if quiet:
            return "".join(f"{line}\n" for line in told.splitlines() if line.startswith(WRONG) or ": warning: " in line)
        sent = sorted(self.lab.changed(), key=lambda one: one.node)
        return told + "".join(f"> {one.node} {one.shown}\n" for one in sent)

    def seen(self, what: str, *words: str) -> str:
        return "".join(f"{line}\n" for line in VIEWS[what](self, *words)) or "nothing\n"

    def steady(self, text: str) -> str:
        """Without what is another on each run: places, times, run numbers; new keys by the order they are seen in."""
        text = text.replace(str(self.lab.home), "~")
        text = re.sub(r"\bsk-[\w-]{20,}", lambda found: self.keys.setdefault(found[0], self._key()), text)
        text = re.sub(r"(?<=\dZ-)([a-z]+-)([0-9a-f]{6})\b", lambda found: found[1] + self._record(found[2]), text)
        # by this machine's clock
        text = re.sub(r"(locked on |lock file of |\"locked\": \")[\d-]{10}\b", r"\1TODAY", text)
        text = re.sub(r"\b\d{8}T\d{6}Z?-[\w-]*?[0-9a-f]{8}\b", "RUN", text)
        text = re.sub(r"\brun [0-9a-f]{8}\b", "run ID", text)
        text = re.sub(r'"seconds": [\d.]+', '"seconds": 0.0', text)
        text = re.sub(r"(?s)[\d.]+ J per generated token.*?power supply\)", "N J per generated token", text)
        text = re.sub(r", \d+(\.\d+)? [MG]B/s, [\d:]+ left", "", text)
        text = re.sub(r" \((\d+:)?\d+:\d\d\)", "", text)
        return re.sub(r"(?<!for )\b\d+(\.\d+)? ?m?s\b(?= |\)|$)", "N s", text, flags=re.MULTILINE)

    def _key(self) -> str:
        return f"sk-KEY-{len(self.keys) + 1}" if self.keys else "sk-KEY"

    def _record(self, name: str) -> str:
        """A benchmark's random name, by the order they are seen in."""
        return f"ID{self.records.setdefault(name, len(self.records) + 1)}"

    # What happens.

    def trouble(self, kind: str, *at: str, away: str = "inf") -> None:
        """At these sends of the next command line."""
        self.lab.anew(troubles=[Trouble(kind, int(one), float(away)) for one in at])  # type: ignore[arg-type]

    def lost_then_interrupt(self, at: str, away: str, interrupt: str) -> None:
        """A connection is lost after a send, for so many seconds; a later send is interrupted."""
        lost = Trouble("lost-applied", int(at), float(away))
        self.lab.anew(troubles=[lost, Trouble("interrupt", int(interrupt))])

    def inventory_says(self, name: str, *values: str) -> None:
        """NAME=VALUE of a node; a node of a new name stands for that whose `address` it has."""
        self.inventory.setdefault(name, {}).update(dict(value.split("=", 1) for value in values))
        self._write()

    def renamed(self, *names: str) -> None:
        """OLD=NEW: another inventory for the same machines."""
        nodes, self.lab = self.lab.world.nodes, self.lab
        pairs = [name.split("=") for name in names]
        self.lab.anew()
        self.lab.world.nodes = {new: nodes[old] for old, new in pairs}
        self.inventory = {new: self.inventory[old] for old, new in pairs}
        self._write()

    def _write(self) -> None:
        self.lab.inventory.write_text(json.dumps({"all": {"hosts": self.inventory}}))

    def ours(self) -> list[SimulatedContainer]:
        return [one for node in self.lab.world.nodes.values() for one in node.engine.listed(OURS)]

    def relabelled(self, label: str, old: str, new: str) -> None:
        for one in self.ours():
            one.labels[label] = one.labels[label].replace(old, new)

    def state(self, old: str, new: str) -> None:
        for one in self.ours():
            one.state = new if one.state == old else one.state  # type: ignore[assignment]

    def user(self, name: str) -> None:
        """Who logs in on the nodes from now on."""
        for node in self.lab.world.nodes.values():
            node.home = f"/home/{name}"

    def boot(self, flag: str, **how: object) -> None:
        self.lab.world.boot(BootRule.flag(flag, EngineBoot(**how)))  # type: ignore[arg-type]

    def aside(self) -> None:
        """What starts beside what was put aside crashes."""
        set_aside = lambda _image, _words: any(one.name.endswith(".aside") for one in self.ours())  # noqa: E731
        self.lab.world.boot(BootRule(set_aside, EngineBoot(crashes=True, log=LAST_WORDS)))

    def write(self, name: str, *lines: str) -> None:
        path = self.lab.work / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines).replace("\\t", "\t"))

    def kill_job(self, name: str, job: str) -> None:
        """In the middle: a job of this node, by the beginning of its name."""
        for known, one in self.lab.node(name).jobs.items():
            if known.startswith(job):
                one.end(137)

    def kill_again(self, name: str, job: str) -> None:
        """And whatever is begun in its place, every five seconds."""
        self.kill_job(name, job)
        self.lab.world.later(5, lambda: self.kill_again(name, job))

    def no_image(self, image: str, *names: str) -> None:
        for name in names or self.lab.names:
            self.lab.node(name).engine.store.remove(image)

    def packaged(self, name: str, new: str, *before_settle: str) -> None:
        """A playbook that comes with sparkops, with these lines in the place of its last phase's."""
        text = self.lab.json("playbook", "show", name)["text"]
        steps = "".join(f"{line}\n" for line in before_settle)
        self.write(new, *text.replace("    - phase: settle\n", steps or "    - phase: settle\n").splitlines())

    def rule_recipe(self, name: str) -> None:
        """One that the tests of rules have."""
        self.write(name, *(RULE_RECIPES / name).read_text(encoding="utf-8").splitlines())

    def scheduled_run(self, name: str, ago: str, how: str, gib: str = "115") -> None:
        """What a scheduled drop of so many seconds ago wrote into its log."""
        node, available = self.lab.node(name), int(gib) * 2**20
        sizes = f"MemFree 1 -> 1, MemAvailable {available} -> {available}, Cached 9 -> 1 KiB"
        log = f"{node.state_dir}/cache/log"
        line = f"{int(EPOCH - float(ago))} x page cache {how}: {sizes}\n"
        node.files[log] = node.files.get(log, "") + line

    def answers(self, name: str, script: str, code: int, text: str) -> None:
        """All that this script of the node says from now on."""
        node = self.lab.node(name)
        node.handlers = {**node.handlers, script: lambda *_: said("" if code else f"{text}\n", code, f"{text}\n")}

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace in a file of this machine."""
        path = self.lab.work / name
        path.write_text(re.sub(old, new, path.read_text()))

    def half(self, name: str, new: str) -> None:
        """Only the beginning of a file is in the new one."""
        (self.lab.work / new).write_text((self.lab.work / name).read_text()[:100])

    def later(self, seconds: str, *event: str) -> None:
        """So many seconds into the next command line: `crash`, `interrupt`, or an event of these."""
        self.lab.world.later(int(seconds), lambda: self._event(*event))

    def while_measuring(self, point: str, *event: str) -> None:
        """In the middle of that point, counted from now."""
        self.lab.benchy.meanwhile[len(self.lab.benchy.asked) + int(point)] = lambda: self._event(*event)

    def _event(self, name: str, *words: str) -> None:
        if name == "ctrl-c":
            raise KeyboardInterrupt
        if name in ("crash", "interrupt"):
            getattr(self.lab.world, name)()
        else:
            EVENTS[name](self, *words)

    def mend(self) -> None:
        """All faults go away."""
        while self.mends:
            self.mends.pop()()

    # What an onlooker sees.

    def containers(self) -> Iterator[str]:
        """All of them; one that has the number of an earlier one is that one. `up`: it would answer."""
        for name, node in self.lab.world.nodes.items():
            for one in sorted(node.engine.listed(), key=lambda one: one.name):
                number = self.numbers.setdefault(one.id, len(self.numbers) + 1)
                key = f", key {one.key.strip()}" if one.key else ""
                yield f"{name} #{number} {one.name} {one.state}{' up' * one.up}{key}"

    def files(self, *parts: str) -> Iterator[str]:
        """Those of the nodes whose path or text has one of these."""
        for name, node in self.lab.world.nodes.items():
            for path, text in sorted(node.files.items()):
                if any(part in path or part in text for part in parts):
                    yield f"{name} {path} {node.modes.get(path, '')}".rstrip()

    def places(self, text: str) -> Iterator[str]:
        """Where something is seen, such as what should be secret; it must be as it is, not as it is shown here."""
        assert "sk-KEY" not in text, "that is what stands for a key"
        home = {path: path.read_text(errors="replace") for path in self.lab.home.rglob("*") if path.is_file()}
        assert [path for path in home if path.suffix == ".jsonl"], "the run log is looked at"
        yield from (f"this machine: {path}" for path, kept in sorted(home.items()) if text in kept)
        yield from self.files(text)
        for name, node in self.lab.world.nodes.items():
            for one in node.engine.listed():
                yield from [f"{name} {one.name}: what docker inspect shows"] * (text in json.dumps(one.inspected()))
        yield from ["what was printed"] * (text in self.told)
        yield from [f"{one.node}: a command" for one in self.lab.world.sent if text in repr(one.command)]


def _set(what: str, value: object) -> Callable[[Evening, str], object]:
    return lambda one, name: vars(one.lab.node(name)).update({what: value})


EVENTS: dict[str, Callable[..., object]] = {
    "fresh": lambda one, nodes="2": one.fresh(int(nodes)),
    "lose": lambda one, name: one.lab.world.lose(name),
    "anew": lambda one: one.lab.anew(),
    "trouble": Evening.trouble,
    "lost-then-interrupt": Evening.lost_then_interrupt,
    "inventory": Evening.inventory_says,
    "renamed": Evening.renamed,
    "relabelled": Evening.relabelled,
    "state": Evening.state,
    "user": Evening.user,
    "lock": _set("lock", "another's"),
    "crash-with": lambda one, flag: one.boot(flag, crashes=True, log=LAST_WORDS),
    "crash-beside-aside": Evening.aside,
    "falls-with": lambda one, flag, falls: one.boot(flag, looks=3, falls=int(falls)),
    "log-with": lambda one, flag, *log: one.boot(flag, log=log),
    "settle": lambda one, looks="8": one.lab.settle(int(looks)),
    "on": lambda one, name, *words: one.lab.on(name, *words),
    "add-image": lambda one, name, image: one.lab.node(name).engine.store.add(image, {}, size=3_000_000),
    "tag": lambda one, name, image, tag: one.lab.node(name).engine.store.tag(image, tag),
    "add-model": lambda one, name, model: one.lab.node(name).add_model(model),
    "forget-model": lambda one, name, model: one.lab.node(name).models.pop(model),
    "gated": lambda one, model: one.lab.world.hub.gated.add(model),
    "hub-held": lambda one: setattr(one.lab.world.hub, "held", True),
    "hub-goes-on": lambda one: setattr(one.lab.world.hub, "held", False),
    "no-fabric": _set("link", False),
    "full-disk": _set("free_kib", 0),
    "free-disk": lambda one, name, gib="100": _set("free_kib", int(gib) * 2**20)(one, name),
    "reboot": lambda one, name: one.lab.node(name).reboot(),
    "fault": lambda one, name, kind: one.mends.append(one.lab.fault(name, kind)),
    "mend": Evening.mend,
    "damage": lambda one, name, file: one.lab.node(name).damaged.add(file),
    "unreadable-keys": lambda one: [vars(container).update(key=None) for container in one.ours()],
    "later": Evening.later,
    "while-measuring": Evening.while_measuring,
    "kill-job": Evening.kill_job,
    "kill-again": Evening.kill_again,
    "no-image": Evening.no_image,
    "rule-recipe": Evening.rule_recipe,
    "scheduled-run": Evening.scheduled_run,
    "crontab": lambda one, name, mark: one.lab.node(name).files.update(
        {CRONTAB: f"{mark} {one.lab.node(name).files[CRONTAB]}"}
    ),
    "wait": lambda one, seconds: one.lab.world.pause(float(seconds), one.lab.world.cancel()),
    "cached": lambda one, name, gib: _set("cached_kib", int(gib) * 2**20)(one, name),
    "job": lambda one, name, *words: SCRIPTS["job"](one.lab.node(name), ("start", *words), ""),
    "answers": lambda one, name, script, code, *text: one.answers(name, script, int(code), " ".join(text)),
    "edit": Evening.edit,
    "half": Evening.half,
    "packaged": Evening.packaged,
    "no-benchy": lambda one: setattr(one.lab.benchy, "here", False),
    "kill": lambda one, name: one.lab.fault(name, "engine-killed"),
    "write": Evening.write,
    "put": lambda one, name, path, text: one.lab.node(name).files.update({f"{one.lab.node(name).home}/{path}": text}),
    "probe": lambda one, name, probe, code, *text: one.lab.node(name).probes.update(
        {probe: (int(code), " ".join(text).replace("\\n", "\n"))}
    ),
}
VIEWS: dict[str, Callable[..., Iterable[str]]] = {
    "containers": Evening.containers,
    "files": Evening.files,
    "places": Evening.places,
    "asked": lambda one: sorted({received.node for received in one.lab.received()}),
    "measured": lambda one: (f"concurrency {asked['--concurrency']}" for asked in one.lab.benchy.asked),
    "boots": lambda one: (f"{name}: {node.boot_id}" for name, node in one.lab.world.nodes.items()),
    "downloads": lambda one: (f"{name} {model}" for name, model in one.lab.world.hub.downloads),
}
