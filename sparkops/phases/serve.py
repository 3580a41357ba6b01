"""Stop what is replaced and start all containers of a revision at once."""

from collections.abc import Iterator

from sparkops.core.effective import command_line
from sparkops.core.endpoints import health_url
from sparkops.core.facts import Container, Facts
from sparkops.core.facts.containers import KEY_IN_CONTAINER
from sparkops.core.plan import Action, Step, Undoing
from sparkops.core.revision import Member
from sparkops.core.situation import Situation, key_path
from sparkops.core.sizes import GIB_KIB
from sparkops.core.stored import drain
from sparkops.core.utilization import UTILIZATION
from sparkops.node_commands import docker, proxy, scripts, vllm
from sparkops.phases import parts
from sparkops.phases.prepare import auth_path, config_path, images_dir, mounts
from sparkops.phases.steps import QUIETLY, step
from sparkops.phases.verify import FORGIVEN, await_member, load_id, proof, question, restarts_allowed

LOW_MEMORY_KIB = 8 * GIB_KIB
"""Drop caches during the load when MemFree falls below 8 GiB (as reported in tonyd2wild's issue 19)."""


def quiesce(s: Situation) -> Iterator[Step]:
    """Stop what runs of other revisions on these nodes; the undo starts it again and waits until it serves."""
    # Servers first: the undo then starts a proxy before it waits for them.
    for node, stored, found in sorted(s.replaced, key=lambda it: it[2].role == "proxy"):
        yield parts.stop(s.facts, stored, node, found, s.choices)
    for member in s.members:
        own = s.existing(member)
        if own is not None and s.todo(member) in ("restart", "replace"):
            yield from _make_way(s, member, own)


def _make_way(s: Situation, member: Member, own: Container) -> Iterator[Step]:
    """Put a container aside whose name its successor needs; the undo starts it again if it ran."""
    owner = (own.name, s.revision.deployment, s.state_dir(member.name))
    runs, hung = own.state == "running" and not own.gave_up, s.is_broken(member)
    if runs and not hung:
        answers = proof(member, question(s, member))
        begin, wait = scripts.container("start", *owner), await_member(s, member, FORGIVEN)
        again = Action(begin, wait, answers, parts.together(s.revision.copy_of(member)))
        end = scripts.container("stop", *owner, drain=drain(s.revision.args))
        told = parts.comes_back(own.name, again)
        yield step(f"stop.{member.name}.{own.name}", member.name, f"stop {own.name}", end, again, told)
    if s.todo(member) == "replace":
        aside, back = (scripts.container(verb, *owner) for verb in ("aside", "again" if runs and hung else "back"))
        told = Undoing(done=f"started {own.name} again") if runs and hung else QUIETLY
        yield step(f"aside.{member.name}.{own.name}", member.name, f"put {own.name} aside", aside, back, told)


def await_memory(s: Situation) -> Iterator[Step]:
    """Wait for the memory of what was stopped, then empty the page cache: CUDA does not count what Linux could free."""
    stopped = {node for node, _, _ in s.gone} | {m.name for m, _ in _own(s) if s.todo(m) in ("restart", "replace")}
    for member in s.engines:
        if s.todo(member) == "keep":
            continue
        if member.name in stopped or s.choices.on_demand:
            share = s.effective.number("gpu-memory-utilization", UTILIZATION)
            yield memory(s.facts[member.name], member.name, share)
        drop = scripts.drop_caches(_model_dir(s, member))
        yield step(f"drop-caches.{member.name}", member.name, "drop the page cache", drop)


def memory(facts: Facts, node: str, share: float) -> Step:
    """Wait for freed memory; the undo waits too, before what served is started again."""
    wait = scripts.memory(int(facts.memory.total_kib * share))
    return step(f"memory.{node}", node, "wait for freed memory", wait, wait, QUIETLY)


def start(s: Situation) -> Iterator[Step]:
    """Start every container; they form the cluster by themselves, in whatever order they come up."""
    for member in s.members:
        if s.todo(member) == "keep":
            continue
        name = s.revision.container(member)
        owner = (name, s.revision.deployment, s.state_dir(member.name))
        if s.todo(member) in ("start", "restart"):
            begin, undo, ended = scripts.container("start", *owner), scripts.container("stop", *owner), "stopped"
        else:
            container = _proxy(s, member) if member.role == "proxy" else _engine(s, member)
            begin, undo, ended = docker.run(container), scripts.container("drop", *owner), "removed"
        told = Undoing(done=f"{ended} {name}")
        yield step(f"start.{member.name}.{member.role}", member.name, f"start {name}", begin, undo, told)
        if member.role != "proxy":
            asked = health_url(s.revision.copy_of(member)[0])
            seconds, model = int(s.choices.limits.deadline), _model_dir(s, member)
            watch = scripts.watch_caches(name, LOW_MEMORY_KIB, seconds, asked, model)
            cancel = scripts.cancel_job(f"cache-{name}")
            title = "drop caches while the weights load"
            yield step(f"watch-caches.{member.name}", member.name, title, watch, cancel, QUIETLY)


def load(s: Situation) -> Iterator[Step]:
    """Wait on every node until the engine is up, so that a dead one ends the wait at once."""
    for member in s.members:
        wait = await_member(s, member, restarts_allowed(s, member))
        title = f"wait for {s.revision.container(member)}"
        yield step(load_id(member.name, member.role), member.name, title, wait)


def _own(s: Situation) -> Iterator[tuple[Member, Container]]:
    """Members of this revision with their existing containers."""
    for member in s.members:
        if (found := s.existing(member)) is not None:
            yield member, found


def _engine(s: Situation, member: Member) -> docker.ContainerCommand:
    facts = s.facts[member.name]
    models = (f"{path}:{path}:ro" for path in s.local_models)
    graphs = s.graphs(member)
    memory_of_graphs = (f"{images_dir(s, member.name)}:/run/sparkops/images",) if graphs else ()
    return docker.ContainerCommand(
        name=s.revision.container(member),
        image=facts.image_id(s.revision.image.reference),
        labels=docker.labels(s.revision, member, s.replaces, s.choices.fleet),
        env=vllm.environment(s.revision, member, int(s.choices.limits.deadline), s.offline(member.name)),
        mounts=(
            *(f"{source}:{target}" for source, target in mounts(s, member)),
            *models,
            *_key(s, member),
            *memory_of_graphs,
        ),
        words=vllm.words(s.revision, member, command_line(s.effective, s.revision.model_revision), graphs),
        rdma=member.link is not None,
    )


def _proxy(s: Situation, member: Member) -> docker.ContainerCommand:
    facts = s.facts[member.name]
    assert s.revision.proxy_image is not None, "a revision with a proxy names its image"
    config = f"{config_path(s, member.name)}:{proxy.CONFIG_IN_CONTAINER}:ro"
    auth = f"{auth_path(s, member.name)}:{proxy.AUTH_IN_CONTAINER}:ro"
    return docker.ContainerCommand(
        name=s.revision.container(member),
        image=facts.image_id(s.revision.proxy_image.reference),
        labels=docker.labels(s.revision, member, s.replaces, s.choices.fleet),
        env=proxy.ENVIRONMENT,
        mounts=(config, auth, *_key(s, member)),
        words=proxy.words(member),
        gpu=False,
    )


def _key(s: Situation, member: Member) -> tuple[str, ...]:
    """The mount of the file with the API key, for members that clients may ask."""
    if member.port is None or s.revision.without_key:
        return ()
    return (f"{key_path(s.facts[member.name])}:{KEY_IN_CONTAINER}:ro",)


def _model_dir(s: Situation, member: Member) -> str:
    if s.revision.model in s.local_models:
        return s.revision.model
    hub = member.cache_dir or f"{s.facts[member.name].home}/.cache/huggingface"
    return f"{hub}/hub/models--{s.revision.model.replace('/', '--')}"
