"""`image build` and `image pull`: one image on one node, as a background job that survives a lost connection."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sparkops.checks.docker import docker_hint, docker_problem
from sparkops.core import build as building
from sparkops.core import mods
from sparkops.core.build import LABEL, Build
from sparkops.core.facts import Facts
from sparkops.core.facts.images import Image
from sparkops.core.schema import did_you_mean
from sparkops.errors import Refused, StepFailed, UsageError
from sparkops.files import mods as load_mods
from sparkops.files import recipes
from sparkops.files.build_context import Context, pack
from sparkops.files.package import PACKAGE
from sparkops.phases.images import CONTEXT, PASSWORD, Building, compile_build, compile_pull, running
from sparkops.phases.sudo import with_sudo
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.execute import follow_job
from sparkops.session.open import connected, selected
from sparkops.session.session import Session
from sparkops.verbs.image.options import BuildOptions, PullOptions


@dataclass(frozen=True)
class BuildSource:
    """A build with its files from this machine."""

    build: Build
    context: Context | None
    base: str | None = None
    """An image that the node must have."""

    @property
    def digest(self) -> str:
        return self.build.digest(self.context.digest if self.context else "")


def build(options: BuildOptions, report: Report) -> Answer:
    """Send the context and follow the build; an image of equal inputs is not built again."""
    chosen = selected(options.where, report)
    source = wanted(options)
    with connected(chosen, report) as session:
        node = one_of(session, options.node)
        return Answer(ensure_built(session, source, node, force=options.force))


def wanted(options: BuildOptions) -> BuildSource:
    """Read what to build, before any node is reached."""
    if options.mods:
        return _with_mods(options)
    if options.context or options.dockerfile:
        return source_of(_named_here(options))
    if options.args:
        raise UsageError("--arg needs --context or --dockerfile; a recipe has its arguments in `build`")
    return source_of(build_of(options.target))


def _with_mods(options: BuildOptions) -> BuildSource:
    """The recipe's image with the recipe's mods built in."""
    recipe = recipes.recipe(options.target)
    if not mods.needed(recipe.mods):
        raise UsageError(
            f"{recipe.source}: has no mods", hint=f"`sparkops image build {options.target}` builds its image"
        )
    if options.context or options.dockerfile or options.args:
        raise UsageError("--mods needs a recipe and no other option")
    context = load_mods.context(str(options.mods), recipe.container, recipe.mods, recipe.mod_sources)
    return BuildSource(Build(mods.derived(recipe.container, recipe.mods), context="."), context, recipe.container)


def source_of(build: Build) -> BuildSource:
    return BuildSource(build, None if build.git else pack(Path(build.context or "."), build.dockerfile))


def ensure_built(session: Session, source: BuildSource, node: str, *, force: bool = False) -> dict[str, Any]:
    """Build the image from these inputs if needed; raises unless the node then has it."""
    image = source.build.image
    facts = facts_of(session, node, image, *filter(None, (source.base,)))
    there = facts.image(image)
    if source.base and facts.image(source.base) is None:
        hint = f"get it: `sparkops image build {source.base}` or `sparkops image pull {source.base}`"
        raise Refused(f"{node} has no base image {source.base}", node=node, hint=hint)
    job = Building(source.build, node, source.digest)
    document = {"image": image, "node": node, "job": job.job, "inputs": job.digest}
    if there and there.labels.get(LABEL) == job.digest and not force:
        return {**document, "changed": False, **described(there)}
    _no_other(facts, job)
    if source.context:
        session.secrets[CONTEXT.name] = source.context.content
    follow_job(with_sudo(compile_build(job, facts), session.sudo), session, job.job)
    return {**document, "changed": True, **described(_made(session, node, image, job.digest))}


def pull(options: PullOptions, report: Report) -> Answer:
    reference, tag = references(options.image)
    chosen = selected(options.where, report)
    with connected(chosen, report) as session:
        report.hide(options.password)
        session.secrets[PASSWORD.name] = options.password or ""
        node = one_of(session, options.node)
        return Answer(ensure_pulled(session, reference, tag, node, options.user))


def ensure_pulled(session: Session, reference: str, tag: str, node: str, user: str | None = None) -> dict[str, Any]:
    """Pull the registry's current image; one named by digest is not pulled again."""
    facts = facts_of(session, node, *filter(None, (reference, tag)))
    there = facts.image(tag or reference)
    document = {"image": tag or reference, "reference": reference, "node": node}
    if "@" in reference and there and reference in there.digests:
        return {**document, "changed": False, **described(there)}
    job = building.job_id("pull", reference)
    plan = compile_pull(node, facts, reference, tag, _registry(reference), user)
    follow_job(with_sudo(plan, session.sudo), session, job)
    after = facts_of(session, node, tag or reference).image(tag or reference)
    if after is None:
        raise StepFailed(
            f"{node}: {reference} was pulled, but Docker does not list it", node=node, step="pull the image"
        )
    return {**document, "job": job, "changed": there is None or there.id != after.id, **described(after)}


def references(name: str) -> tuple[str, str]:
    """Return what to pull and an additional tag: `NAME:TAG@DIGEST` is also tagged NAME:TAG, as on other nodes."""
    plain, at, _ = name.partition("@")
    if not plain or name.startswith("-") or any(mark.isspace() for mark in name):
        raise UsageError(f"{name!r} is not an image name", hint="such as ghcr.io/berriai/litellm:main-stable")
    if not at:
        return name, ""
    tagged = plain if ":" in plain.rpartition("/")[2] else f"{plain}:latest"
    repository = tagged.rpartition(":")[0]
    return f"{repository}@{name.partition('@')[2]}", tagged


def build_of(target: str) -> Build:
    """Return the build of a recipe (name or path), or of an image that a recipe runs."""
    names = recipes.recipe_names()
    if target in names or target.endswith((".yml", ".yaml")):
        recipe = recipes.recipe(target)
        given = recipe.build or building.KNOWN.get(_plain(recipe.container))
        if not given:
            raise UsageError(
                f"{recipe.source}: no `build` says how to build {recipe.container}",
                hint=f"`sparkops image pull {recipe.container}` fetches it, or give the recipe a `build`",
            )
        return _beside(building.read(recipe.container, given, recipe.source), recipe.source)
    for name in names:
        recipe = recipes.recipe(name)
        if recipe.build and _plain(recipe.container) == _plain(target):
            return _beside(building.read(target, recipe.build, recipe.source), recipe.source)
    if _plain(target) in building.KNOWN:
        return _beside(building.read(target, building.KNOWN[_plain(target)], target), str(PACKAGE / target))
    raise UsageError(
        f"sparkops does not know how to build {target}{did_you_mean(target, names)}",
        hint="build a directory: --context DIR; get a published image: `sparkops image pull`",
    )


def one_of(session: Session, node: str | None) -> str:
    """Return the named node, else the first selected one."""
    name = (session.inventory.node(node) if node is not None else session.selected[0]).name
    session.require([name])
    return name


def facts_of(session: Session, node: str, *images: str) -> Facts:
    return facts_by_node(session, [node], images)[node]


def facts_by_node(session: Session, nodes: Sequence[str], images: Sequence[str]) -> dict[str, Facts]:
    """Read the facts of these nodes; raises unless Docker answers on each."""
    found = session.facts(images=images)
    session.require(nodes)
    for node in nodes:
        if problem := docker_problem(found[node]):
            raise Refused(f"{node}: Docker cannot be used: {problem}", node=node, hint=docker_hint(problem))
    return {node: found[node] for node in nodes}


def described(image: Image) -> dict[str, Any]:
    return {"id": image.id, "fingerprint": image.fingerprint, "size_bytes": image.size_bytes}


def _no_other(facts: Facts, wanted: Building) -> None:
    """Refuse if the node builds this name from other inputs."""
    others = [job for job in running(facts) if job.startswith(f"{building.job_id('build', wanted.build.image)}-")]
    for job in others:
        if job != wanted.job and len(job) == len(wanted.job):
            raise Refused(
                f"{wanted.node} is building {wanted.build.image} from other inputs ({job})",
                node=wanted.node,
                hint=f"`sparkops jobs wait {job}`, or `sparkops jobs cancel {job}`",
            )


def _made(session: Session, node: str, image: str, digest: str) -> Image:
    found = facts_of(session, node, image).image(image)
    if found is None or found.labels.get(LABEL) != digest:
        what = "is not there" if found is None else "was built by another program meanwhile"
        raise StepFailed(f"{node}: the build succeeded, but {image} {what}", node=node, step="build the image")
    return found


def _named_here(options: BuildOptions) -> Build:
    args = dict(_pair(text) for text in options.args)
    path = Path(options.dockerfile) if options.dockerfile else None
    context = Path(options.context) if options.context else path.parent if path else Path()
    try:
        inside = path.resolve().relative_to(context.resolve()).as_posix() if path else None
    except ValueError:
        raise UsageError(f"{path} is not inside the context {context}", hint="Docker reads it from there") from None
    references(options.target)
    if "@" in options.target:
        raise UsageError(f"{options.target}: a digest cannot be built; name the image NAME or NAME:TAG")
    return Build(options.target, str(context), inside, args)


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageError(f"--arg {text}: must be NAME=VALUE")
    return key, value


def _beside(build: Build, source: str) -> Build:
    """Return the build with its context relative to the recipe's directory."""
    return replace(build, context=str(Path(source).parent / build.context)) if build.context is not None else build


def _plain(image: str) -> str:
    return image.removesuffix(":latest")


def _registry(reference: str) -> str:
    """Return the registry host of an image name; empty for Docker Hub."""
    first, slash, _ = reference.partition("/")
    return first if slash and ("." in first or ":" in first or first == "localhost") else ""
