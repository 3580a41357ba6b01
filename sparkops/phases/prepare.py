"""Steps that write what the containers mount: directories, the proxy's configuration, the API key."""

from collections.abc import Iterator

from sparkops.core.facts import Facts
from sparkops.core.plan import Secret, Step, Undoing
from sparkops.core.recipe import MOUNTS
from sparkops.core.revision import Member
from sparkops.core.situation import Situation, key_path
from sparkops.node_commands import proxy, scripts
from sparkops.phases.steps import QUIETLY, step

API_KEY = Secret("api-key")


def secret_of(deployment: str) -> Secret:
    """The API key of one deployment: those of a fleet may differ."""
    return Secret(f"{API_KEY.name} of {deployment}")


def directories(s: Situation) -> Iterator[Step]:
    """Cache directories, made as the login user before Docker makes them as root."""
    for member in s.revision.engines:
        if s.todo(member) not in ("run", "replace"):
            continue
        own = (images_dir(s, member.name),) if s.graphs(member) else ()
        if paths := (*(source for source, _ in mounts(s, member)), *own):
            made = scripts.directories(*paths)
            yield step(f"directories.{member.name}", member.name, "make the cache directories", made)
    yield from _agree_on_graphs(s)


def _agree_on_graphs(s: Situation) -> Iterator[Step]:
    """Where CUDA graphs hung on one node, tell the others: all ranks run with graphs, or all without."""
    ranks = {member: graphs for member in s.revision.engines if (graphs := s.graphs(member))}
    images = {member: s.facts[member.name].image(s.revision.image.reference) for member in ranks}
    hung = [member for member, image in images.items() if image and image.graphs_hung]
    for member in ranks if hung else ():
        if member not in hung and s.todo(member) in ("run", "replace"):
            path = f"{images_dir(s, member.name)}/{ranks[member]}.graphs-hung"
            title = f"note that CUDA graphs hung on {hung[0].name}"
            note = scripts.write(path, "644", f"as on {hung[0].name}\n")
            yield step(f"graphs-hung.{member.name}", member.name, title, note)


def api_key(s: Situation) -> Iterator[Step]:
    """Write the key that clients must send to a 0600 file on every node with an API.

    After the stop of what reads the old one, so that the undo brings the old one back before that starts again.
    """
    if s.revision.without_key:
        return
    starting = (m for m in s.members if m.port is not None and s.todo(m) != "keep")
    for node in dict.fromkeys(member.name for member in starting):
        if s.facts[node].key_digest != s.key_digest:
            yield write_key(s.facts[node], node)


OLD_KEY = Undoing(done="restored the earlier API key")


def write_key(facts: Facts, node: str) -> Step:
    path = key_path(facts)
    undo = scripts.write(path, "600", old_key(node)) if facts.key_digest else None
    return step(f"api-key.{node}", node, "write the API key", scripts.write(path, "600", API_KEY), undo, OLD_KEY)


def old_key(node: str) -> Secret:
    """The secret for the node's previous key."""
    return Secret(f"old-api-key.{node}")


def proxy_config(s: Situation) -> Iterator[Step]:
    """Write LiteLLM's list of servers and its check of API keys."""
    for member in s.revision.proxies:
        if s.todo(member) in ("run", "replace"):
            path = config_path(s, member.name)
            auth = scripts.write(auth_path(s, member.name), "644", proxy.AUTH)
            yield step(f"proxy-auth.{member.name}", member.name, "write the proxy's key check", auth)
            write = scripts.write(path, "644", proxy.config(s.revision))
            remove = None if s.existing(member) else scripts.remove_file(path)
            title = "write the proxy's configuration"
            yield step(f"proxy-config.{member.name}", member.name, title, write, remove, QUIETLY)


def mounts(s: Situation, member: Member) -> Iterator[tuple[str, str]]:
    """(path on the node, path in the container) of each mount of the recipe: a cache by name, or `SOURCE:TARGET`."""
    home = s.facts[member.name].home
    for mount in s.revision.mounts:
        if mount in MOUNTS:
            source, target = MOUNTS[mount]
        else:
            source, _, target = mount.partition(":")
        if mount == "huggingface" and member.cache_dir:
            yield member.cache_dir, target
        else:
            path = source if source.startswith("/") else f"{home}/{source.removeprefix('~/')}"
            yield path, target or path


def images_dir(s: Situation, node: str) -> str:
    """What the node remembers of its images; the entry script adds that CUDA graphs hung."""
    return f"{s.state_dir(node)}/images"


def auth_path(s: Situation, node: str) -> str:
    return f"{s.state_dir(node)}/config/sparkops_auth.py"


def config_path(s: Situation, node: str) -> str:
    return f"{s.state_dir(node)}/config/{s.revision.deployment}-{s.revision.hash[:8]}.yml"
