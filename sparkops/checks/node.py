"""Checks of one node at a time, or of the same thing on all nodes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from sparkops.commands import proxy, vllm
from sparkops.core import images
from sparkops.core.facts import Facts, Model, Unread, known
from sparkops.core.findings import Finding
from sparkops.core.situation import Situation, deployed

DOCKER_HINT = "on the node: sudo usermod -aG docker $USER, then log in again; or set `become: sudo` in the inventory"


def docker_usable(s: Situation) -> Iterator[Finding]:
    for name in dict.fromkeys(member.name for member in s.revision.members):
        if problem := docker_problem(s.facts[name]):
            yield Finding(
                "docker-usable",
                "fail",
                f"Docker cannot be used: {problem}",
                hint=DOCKER_HINT,
                node=name,
            )


def image_present(s: Situation) -> Iterator[Finding]:
    wanted = {member.name: s.revision.image.reference for member in s.revision.engines}
    for name, reference in wanted.items():
        if not docker_problem(s.facts[name]) and s.facts[name].image(reference) is None:
            yield Finding(
                "image-present", "fail", f"the image {reference} is not there", hint=_how_to_get(reference), node=name
            )
    for member in s.revision.proxies:
        if not docker_problem(s.facts[member.name]) and s.facts[member.name].image(proxy.IMAGE) is None:
            hint = f"on the node: docker pull {proxy.IMAGE} (about 1 GB)"
            yield Finding("image-present", "fail", f"the image {proxy.IMAGE} is not there", hint=hint, node=member.name)


def image_same(s: Situation) -> Iterator[Finding]:
    reference = s.revision.image.reference
    prints = {m.name: found.fingerprint for m in s.revision.engines if (found := s.facts[m.name].image(reference))}
    if len(set(prints.values())) > 1:
        yield Finding(
            "image-same",
            "fail",
            f"{reference} is not the same image on all nodes",
            hint=f"copy it from one node: docker save {reference} | ssh OTHER docker load",
            evidence=", ".join(f"{name} {digest[:12]}" for name, digest in prints.items()),
        )


def model_present(s: Situation) -> Iterator[Finding]:
    if s.revision.model.startswith("/"):
        return
    for name in {member.name: None for member in s.revision.engines}:
        if problem := _model_problem(s.facts[name].model):
            message = f"the model {s.revision.model} {problem}"
            yield Finding("model-present", "fail", message, hint=_how_to_download(s), node=name)


def ports_free(s: Situation) -> Iterator[Finding]:
    for name, wanted in _wanted_ports(s).items():
        ours = _held_by_us(s, name)
        for listener in known(s.facts[name].listeners, ()):
            if listener.port in wanted and listener.port not in ours:
                holder = listener.process or "another process"
                yield Finding(
                    "ports-free",
                    "fail",
                    f"port {listener.port} ({wanted[listener.port]}) is taken by {holder}",
                    hint="stop it, or give the node another `api_port` in the inventory",
                    node=name,
                )


def machines_differ(s: Situation) -> Iterator[Finding]:
    """Said, not refused: cloned units work until something tells them apart by these."""
    marks = {member.name: _marks(s.facts[member.name]) for member in s.revision.members}
    for (first, its), (second, others) in combinations(marks.items(), 2):
        if shared := its & others:
            yield Finding(
                "machines-differ",
                "warn",
                f"{first} and {second} have the same machine-id or host keys: they were cloned",
                hint="on one of them: sudo rm /etc/machine-id /etc/ssh/ssh_host_*; sudo systemd-machine-id-setup; "
                "sudo ssh-keygen -A; then `sparkops trust`",
                evidence=", ".join(sorted(shared)),
            )


def docker_problem(facts: Facts) -> str:
    """Why Docker cannot be used on the node; empty when it can."""
    return facts.docker_ps.reason if isinstance(facts.docker_ps, Unread) else ""


def _marks(facts: Facts) -> frozenset[str]:
    machine = known(facts.machine_id, "")
    return frozenset(filter(None, (machine, *(key.fingerprint for key in known(facts.hostkeys, ())))))


def _model_problem(model: Model | Unread) -> str:
    if isinstance(model, Unread):
        return f"is not in the cache ({model.reason})"
    if not model.present:
        return "is not in the cache"
    if model.complete:
        return ""
    gaps = (*model.missing, *model.empty, *model.broken)
    return f"is not complete: {', '.join(gaps[:3])}{' ...' if len(gaps) > 3 else ''}"


def _wanted_ports(s: Situation) -> dict[str, dict[int, str]]:
    wanted: dict[str, dict[int, str]] = {}
    for member in s.revision.members:
        mine = wanted.setdefault(member.name, {})
        if member.port is not None:
            mine[member.port] = "the endpoint" if member.role == "proxy" else "the engine"
        if member.role == "head":
            mine |= {vllm.RAY_PORT: "Ray"} if s.revision.executor == "ray" else {vllm.MASTER_PORT: "rendezvous"}
    return wanted


def _held_by_us(s: Situation, node: str) -> frozenset[int]:
    """Ports of this revision's running containers and of those that it replaces."""
    going = {(n, found.name) for n, _, found in s.replaced} | {
        (m.name, s.revision.container(m)) for m in s.revision.members
    }
    held: set[int] = set()
    for where, stored, found in deployed(s.facts):
        if where == node and (where, found.name) in going and found.runs:
            member = stored.member(where, found.name)
            held |= {member.port} if member and member.port else set()
            held |= {vllm.RAY_PORT, vllm.MASTER_PORT} if found.role == "head" else set()
    return frozenset(held)


def _how_to_get(reference: str) -> str:
    if images.known(reference).kind == "mxfp4":
        return (
            "build it on one node (about 45 minutes, 25 GB): spark-vllm-docker's build-and-copy.sh --exp-mxfp4; "
            f"then copy it over the fabric: docker save {reference} | ssh OTHER docker load"
        )
    copy = f"docker save {reference} | ssh OTHER docker load"
    return f"on one node: docker pull {reference}; then copy it over the fabric: {copy}"


def _how_to_download(s: Situation) -> str:
    size = s.effective.recipe.metadata.weights_gib
    cost = f" (about {size:.0f} GiB)" if size else ""
    return (
        f"on one node{cost}: hf download {s.revision.model} --exclude 'original/*' --exclude 'metal/*'; "
        "then copy ~/.cache/huggingface/hub over the fabric with rsync"
    )
