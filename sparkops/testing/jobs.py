"""Detached work of simulated nodes (`job.sh`): it ends on the virtual clock, with a log and an exit code."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sparkops.core.plan import Result, Script, Word
from sparkops.testing.node import EPOCH, Handler, SimulatedJob, SimulatedNode, Work, said

Starter = Callable[[SimulatedNode, str, tuple[str, ...]], Work | None]
"""The work of a script's words as a job with this ID; None if it runs until it is cancelled."""


@dataclass
class Timed:
    """At `at` virtual seconds `finish` writes to the log and returns the exit code. `tidy` runs unless it is killed."""

    at: float
    finish: Callable[[list[str]], int]
    tidy: Callable[[], object] = lambda: None
    said: tuple[str, ...] = ()
    held: Callable[[], bool] = lambda: False
    _told: bool = field(default=False, init=False)

    def look(self, now: float, log: list[str]) -> int | None:
        if not self._told:
            log.extend(self.said)
            self._told = True
        if now < self.at or self.held():
            return None
        code = self.finish(log)
        self.tidy()
        return code

    def stop(self, killed: bool) -> None:
        if not killed:
            self.tidy()


def job(starters: Mapping[str, Starter]) -> Handler:
    """The handler of `job.sh`; `starters` make the work of its jobs."""

    def answer(node: SimulatedNode, words: tuple[Word, ...], _stdin: str) -> Result:
        """`job start ID DEADLINE WORDS…`, `job list`, `job log|probe ID [LINES]`, `job wait|cancel ID`."""
        verb, name = str(words[0]), str(words[1]) if len(words) > 1 else ""
        found = node.jobs.get(name)
        if verb == "start":
            return _start(node, name, words[2:], starters)
        if verb == "list":
            return said("".join(_row(name, one) for name, one in node.jobs.items()))
        if verb == "cancel" and found is not None:
            found.end(143)
        if verb == "probe":
            return said(f"{_state(found)}\n{_log(found, words)}")
        if verb == "log":
            return said(_log(found, words))
        if verb == "wait":
            return said(code=137 if found is None or found.code is None else found.code)
        return said()

    return answer


def _start(node: SimulatedNode, name: str, words: tuple[Word, ...], starters: Mapping[str, Starter]) -> Result:
    found = node.jobs.get(name)
    if found is not None and found.code is None:
        return said(f"running {name}\n")
    script = words[1].name if isinstance(words[1], Script) else ""
    rest = tuple(str(getattr(word, "name", word)) for word in words[2:])
    work = starters[script](node, name, rest) if script in starters else None
    node.jobs[name] = SimulatedJob(words[1:], node.now + float(str(words[0])), started=node.now, work=work)
    return said(f"started {name}\n")


def _row(name: str, one: SimulatedJob) -> str:
    state, code = ("running", "") if one.code is None else ("ended", str(one.code))
    words = " ".join(str(getattr(word, "name", word)) for word in one.words)[:200]
    return f"{name}\t{state}\t{code}\t{int(EPOCH + one.started)}\t{words}\n"


def _state(one: SimulatedJob | None) -> str:
    if one is None or one.code == 137:
        return "never the job does not exist, or it was killed"
    if one.code is None:
        return f"wait {next(reversed(_told(one, 'progress: ')), 'running')}"
    why = next(reversed(_told(one, "error: ")), f"it ended with exit code {one.code}")
    return "ready" if one.code == 0 else "never it exceeded its time limit" if one.code == 124 else f"never {why}"


def _told(one: SimulatedJob, mark: str) -> list[str]:
    return [line.removeprefix(mark) for line in one.log if line.startswith(mark)]


def _log(one: SimulatedJob | None, words: tuple[Word, ...]) -> str:
    lines = [line for line in one.log if not line.startswith("progress: ")] if one else []
    count = int(str(words[2])) if len(words) > 2 else 200
    return "".join(f"{line}\n" for line in lines[-count:])
