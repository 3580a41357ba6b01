"""One benchmark run: each point is stored as soon as it is measured; a failed point never becomes a number."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from sparkops import __version__
from sparkops.core.bench.measured import Row, read
from sparkops.core.bench.progress import Progress
from sparkops.core.bench.record import Record
from sparkops.core.bench.samples import Sample, wedged
from sparkops.core.bench.suites import Point, Suite
from sparkops.core.plan import Event, EventKind
from sparkops.errors import Interrupted, Refused, UsageError
from sparkops.files import bench_records
from sparkops.node_commands import benchy
from sparkops.remote.network import network
from sparkops.report.report import Report
from sparkops.session.llama_benchy import BenchyEnded
from sparkops.verbs.bench.options import BenchOptions
from sparkops.verbs.bench.subject import Subject


@dataclass
class Run:
    """The record is written before the first point and after each, so an interrupt loses at most one point."""

    suite: Suite
    subject: Subject
    options: BenchOptions
    report: Report
    problems: list[str] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    raw: list[Mapping[str, Any]] = field(default_factory=list)
    texts: dict[str, None] = field(default_factory=dict)
    """Names of the texts of the prompts; all points need one text."""

    began: float = field(default_factory=time.monotonic)
    before: float = 0.0
    """Seconds that earlier processes of a resumed run took."""

    def measure(self) -> Record:
        """Measure all remaining points; the record holds the problems found."""
        record = self._keep(self._begin())
        again = f"continue: `sparkops bench run --resume {record.id}`"
        try:
            with self.subject.watch(self.samples):
                record = self._points(record)
        except KeyboardInterrupt:
            self._keep(record)
            raise Interrupted("the points measured so far are stored", hint=again) from None
        except UsageError as error:  # the disk is full: all but the last point is kept
            raise UsageError(error.message, hint=f"{error.hint}; then {again}") from None
        self.problems += self.subject.verify()
        if len(self.texts) > 1:
            self.problems.append(f"the prompts come from different texts: {', '.join(self.texts)}")
        for node, clock in wedged(self.samples).items():
            slow = f"the GPU clock stayed at {clock:.0f} MHz under load (healthy: 2000 MHz or more)"
            self.problems.append(f"{node}: {slow}; unplug the node's power for a minute")
        return self._keep(record)

    def _points(self, record: Record) -> Record:
        done = {row.point for row in read(self.raw, self.suite).rows}
        left = [point for point in self.suite.points if point not in done]
        for number, point in enumerate(left):
            row = self._point(point, Progress(len(left), number, point.concurrency * self.suite.runs))
            record = self._keep(record)
            if row is None:
                break
            self._emit("done", title=str(point), result=f"{row.metrics['decode'].mean:,.1f} tokens/s")
        return record

    def _begin(self) -> Record:
        if self.options.resume:
            kept = bench_records.record(self.options.resume)
            self._same(kept)
            self.raw, self.samples, self.before = list(kept.raw), list(kept.samples), kept.seconds
            self.texts = {kept.text: None} if kept.raw else {}
            return replace(kept, problems=())
        now = datetime.fromtimestamp(network().clock(), UTC)
        name = f"{now:%Y%m%dT%H%M%SZ}-{self.suite.id}-{os.urandom(3).hex()}"
        about, target = self.subject, self.subject.target
        versions = {"sparkops": __version__, **about.versions}
        label = self.options.label or about.label
        started = f"{now:%Y-%m-%dT%H:%M:%SZ}"
        return Record(
            name,
            started,
            self.suite,
            label,
            target.url,
            target.model,
            versions,
            (),
            about.lock,
            lab=about.lab,
        )

    def _same(self, kept: Record) -> None:
        """Refuse to resume a run of another deployment, model or URL."""
        changed = [name for name in ("url", "model") if getattr(kept, name) != getattr(self.subject.target, name)]
        if {**(kept.lock or {}), "locked": ""} != {**(self.subject.lock or {}), "locked": ""}:
            changed.append("deployment")
        if changed:
            raise Refused(f"run {kept.id} was started with a different {' and '.join(changed)}", hint="start a new run")

    def _point(self, point: Point, progress: Progress) -> Row | None:
        """Measure one point; None if it failed, which ends the run, because the next points would fail too."""
        self._emit("start", title=str(point))
        target = replace(self.subject.target, coherence=self.options.coherence and not self.raw)
        ended = self.subject.measure(benchy.words(self.suite, point, target), self._listener(point, progress))
        row, reason = self._judged(point, ended)
        if row is None:
            self.problems.append(f"{point}: {reason.removeprefix(f'{point}: ')}")
            self._emit("failed", f"{reason}\n{ended.said}".strip(), str(point))
        else:
            self.raw.append(dict(ended.document or {}))
        return row

    def _judged(self, point: Point, ended: BenchyEnded) -> tuple[Row | None, str]:
        """Return the row, or the reason for none: a failed request, a null, an exit code."""
        found = read([ended.document], self.suite.only(point)) if ended.document else None
        reasons = [*ended.errors, *(found.problems if found else ()), *ended.said.splitlines()[-1:]]
        if ended.code == 0 and not reasons and found is not None:
            return found.rows[0], ""
        return None, reasons[0] if reasons else f"llama-benchy ended with exit code {ended.code} and gave no result"

    def _listener(self, point: Point, progress: Progress) -> Callable[[Mapping[str, Any]], None]:
        ended = 0

        def show(event: Mapping[str, Any]) -> None:
            nonlocal ended
            if event.get("type") == "text":
                self.texts[str(event.get("text"))] = None
            if event.get("type") == "request_end":
                ended += 1
                now = replace(progress, ended=ended)
                self._emit("progress", now.line(time.monotonic() - self.began), str(point))

        return show

    def _emit(self, kind: EventKind, text: str = "", title: str = "", **data: str) -> None:
        self.report.emit(Event(kind, text, self.subject.node, "measure", title, data))

    def _keep(self, record: Record) -> Record:
        """Store the record as it is now, and return it."""
        tool = {"llama-benchy": str(self.raw[0]["version"])} if self.raw and "version" in self.raw[0] else {}
        text = {"text": next(iter(self.texts))} if self.texts else {}
        made = replace(
            record,
            versions={**record.versions, **tool, **text},
            raw=tuple(self.raw),
            samples=tuple(self.samples),
            problems=tuple(self.problems),
            seconds=round(self.before + time.monotonic() - self.began, 1),
        )
        bench_records.keep(made)
        return made
