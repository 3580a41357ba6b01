"""Plans for the nodes' model caches. They never use sudo, or the cache would belong to root."""

from collections.abc import Iterator, Mapping, Sequence

from sparkops.core.facts import Facts
from sparkops.core.model_name import ModelName
from sparkops.core.plan import Action, Phase, Plan, Secret, Step, Wait
from sparkops.core.situation import state_dir
from sparkops.node_commands import models as commands
from sparkops.node_commands import scripts
from sparkops.node_commands.images import job_probe
from sparkops.node_commands.models import Fetch
from sparkops.phases.images import detached, running
from sparkops.phases.steps import plan, step

ASK = Secret("model-ask")
"""JSON with token, endpoint and proxies."""

STALL = 3600.0
"""Seconds without progress after which a job is no longer waited for; the job itself retries sooner."""


def compile_fetch(want: Fetch, node: str, cache: str | None, facts: Facts) -> Plan:
    """Start the download as a job on one node and wait for it; if it runs already, only wait."""
    return plan("model fetch", {"download the model": _fetch(want, node, cache, facts)}, on_failure="stop")


def _fetch(want: Fetch, node: str, cache: str | None, facts: Facts) -> Iterator[Step]:
    ask = None if want.offline else f"{state_dir(facts)}/models/{want.job}.json"
    if ask and want.job not in running(facts):
        yield step(f"ask.{node}", node, "write the settings for the model hub", scripts.write(ask, "600", ASK))
    begin, wait = commands.fetch(want, cache, ask), until_done(want.job, commands.FETCH_SECONDS)
    title = f"{'check the cache for' if want.offline else 'download'} {want.name.title}"
    yield step(f"fetch.{node}", node, title, detached(want.job, begin, wait, facts))


def compile_look(
    name: ModelName, manifest: str, words: str | None, caches: Mapping[str, str | None], facts: Mapping[str, Facts]
) -> Plan:
    """Find what each of these nodes lacks: send the manifest, then run the job that compares."""
    job = name.job("look")
    wait = until_done(job, commands.VERIFY_SECONDS)
    told, looked = [], []
    for node, cache in caches.items():
        path = manifest_path(facts[node], name)
        write = scripts.write(path, "644", manifest)
        told.append(step(f"tell.{node}", node, "send the list of the model's files", write))
        look = Action(commands.lacks(job, name, cache, path, words), wait)
        looked.append(step(f"look.{node}", node, f"list the missing files of {name.title}", look))
    phases = (Phase("send the list of files", tuple(told)), Phase("compare the files", tuple(looked)))
    return Plan("model fetch", None, phases, on_failure="stop")


def compile_verify(name: ModelName, caches: Mapping[str, str | None]) -> Plan:
    """Verify on every node at once; if one fails, the others go on."""
    job = name.job("verify")
    wait = until_done(job, commands.VERIFY_SECONDS)
    steps = (
        step(f"verify.{node}", node, f"verify {name.title}", Action(commands.verify(name, cache), wait))
        for node, cache in caches.items()
    )
    return Plan("model verify", None, (Phase("verify the model", tuple(steps)),), on_failure="go-on")


def compile_prune(gone: Mapping[str, Sequence[str]], caches: Mapping[str, str | None]) -> Plan:
    steps = (
        step(f"prune.{node}", node, f"remove {', '.join(names)}", commands.prune(caches[node], *names))
        for node, names in gone.items()
    )
    return plan("model prune", {"remove models": steps}, on_failure="go-on")


def manifest_path(facts: Facts, name: ModelName) -> str:
    return f"{state_dir(facts)}/models/{name.job('copy')}.json"


def until_done(job: str, seconds: float) -> Wait:
    return Wait(job_probe(job), every=1.0, stall=STALL, deadline=seconds)
