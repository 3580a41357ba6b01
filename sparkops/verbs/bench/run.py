"""`bench run`: one suite against what serves, now or right after it was deployed."""

import os
from dataclasses import replace

from sparkops.core.bench.record import Record
from sparkops.core.bench.suites import SUITES, Point, Suite, suite
from sparkops.core.bench.trouble import cure
from sparkops.core.schema import did_you_mean, one_line
from sparkops.errors import Refused, StepFailed, UsageError
from sparkops.files import bench_records, own_files
from sparkops.node_commands import benchy
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session import llama_benchy
from sparkops.session.open import reached
from sparkops.session.session import Session
from sparkops.verbs.bench import subject as bench_subject
from sparkops.verbs.bench.measure import Run
from sparkops.verbs.bench.options import BenchOptions
from sparkops.verbs.bench.subject import Subject

EXTRA = "pip install 'sparkops[bench]'"
BOOK = "SPARKOPS_BOOK"


def run(options: BenchOptions, report: Report) -> Answer:
    """Measure a deployment, or any URL."""
    options = _resumed(options)
    wanted = suite_of(options)
    require(options)
    if options.url is not None:
        return answer(Run(wanted, bench_subject.of_url(options), options, report).measure())
    with reached(options.where, report) as session:
        return answer(run_on(options, wanted, session))


def run_on(options: BenchOptions, wanted: Suite, session: Session) -> Record:
    """Measure a deployment: drop caches before, sample the nodes during the run, ask the engine after it."""
    subject = bench_subject.of_deployment(options, session)
    return Run(_fitting(wanted, subject, session.report), subject, options, session.report).measure()


def _fitting(wanted: Suite, subject: Subject, report: Report) -> Suite:
    """Leave out the points that the engine would refuse, and say which; refuse if these are all."""
    if subject.context is None:
        return wanted
    limit, kept = f"--max-model-len {subject.context}", wanted.within(subject.context)
    if kept is None:
        hint = f"deploy with more context: --set args.max-model-len={max(map(_tokens, wanted.points))}"
        raise Refused(
            f"no request of the suite {wanted.id} fits into the context of the deployment ({limit})", hint=hint
        )
    for point in sorted({*wanted.points} - {*kept.points}, key=_tokens):
        report.warn(f"not measured, because it does not fit into the context ({limit}): {point}")
    return kept


def _tokens(point: Point) -> int:
    return point.depth + point.prompt + point.answer


def require(options: BenchOptions) -> None:
    """Refuse options that cannot work, before anything is done."""
    if options.on is None and not llama_benchy.tool().installed():
        raise UsageError("llama-benchy is not installed", hint=f"{EXTRA}, or --on NODE")
    if options.on is not None and options.tokenizer is not None:
        raise UsageError("--on uses the tokenizer on the node, not --tokenizer", hint="remove --on or --tokenizer")
    if options.on is not None and options.url is not None:
        raise UsageError("--on and --url exclude each other: a URL is measured from here", hint="remove --on or --url")
    if options.on is None:
        named = {"--book": options.book, "--tokenizer": options.tokenizer, "$SPARKOPS_BOOK": os.environ.get(BOOK)}
        for name, path in named.items():
            if path and not own_files.is_there(path):
                raise UsageError(one_line(f"{name} {path}: no such file"))


def suite_of(options: BenchOptions) -> Suite:
    """Return the named suite with the changes of `--set`; for `--resume` the suite of that run."""
    if options.resume:
        return bench_records.record(options.resume).suite
    found = suite(options.suite)
    if found is None:
        names = [one.id for one in SUITES]
        hint = "list the suites: `sparkops bench suites`"
        raise UsageError(f"--suite {options.suite}: no such suite{did_you_mean(options.suite, names)}", hint=hint)
    made, refused = benchy.adjusted(found, dict(item.partition("=")[::2] for item in options.sets))
    if refused:
        raise UsageError(f"--set {refused[0]}", hint=f"you can set {', '.join(benchy.LISTS)}, runs and prefix-caching")
    return made


def _resumed(options: BenchOptions) -> BenchOptions:
    """Return the options with target and label of the resumed run."""
    if options.resume is None:
        return options
    kept = bench_records.record(options.resume)
    if kept.lock is None:
        return replace(options, url=kept.url, model=kept.model, label=kept.label)
    return replace(options, deployment=options.deployment or str(kept.lock["deployment"]), label=kept.label)


def answer(record: Record) -> Answer:
    """Return the record, with an error if it has problems."""
    document = {"id": record.id, "ok": record.ok, "record": record.document(), "rows": record.table()}
    problems = record.all_problems
    if not problems:
        return Answer(document)
    hint = "; ".join(filter(None, (cure(problems[0]), _way_on(record)))) or None
    return Answer({**document, "rows": []}, error=StepFailed(f"no valid result: {problems[0]}", hint=hint))


def _way_on(record: Record) -> str | None:
    """Advise `--resume`, except for a URL without results: its address or name may be wrong."""
    resume = f"`sparkops bench run --resume {record.id}`"
    if record.raw:
        return f"the points measured so far are stored; continue: {resume}"
    return f"start it again: {resume}" if record.lock is not None else None
