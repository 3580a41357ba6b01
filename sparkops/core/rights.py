"""What sparkops may do as root on a node, and which of the recipe's caches are missing there."""

from sparkops.core.facts import Sudo, known
from sparkops.core.inventory import Node
from sparkops.core.recipe import MOUNTS
from sparkops.core.situation import Situation


def may_sudo(s: Situation, node: Node) -> bool:
    """Whether every command may use sudo: without a password, or with the one that was given."""
    rights = s.facts[node.name].sudo
    return isinstance(rights, Sudo) and (rights.able or s.choices.sudo_password)


def may_drop(s: Situation, node: Node) -> bool:
    """Whether a deploy can empty the page cache: as root, or by the one-command sudoers rule."""
    rights = s.facts[node.name].sudo
    granted = isinstance(rights, Sudo) and (rights.able or rights.drop_caches)
    return granted or (node.become == "sudo" and s.choices.sudo_password)


def missing_caches(s: Situation, node: Node) -> list[str]:
    """Paths of the recipe's caches below the home that do not exist."""
    facts = s.facts[node.name]
    found = {one.path for one in known(facts.caches, ())}
    if f"{facts.home}/.cache" not in found or not any(member.name == node.name for member in s.revision.engines):
        return []
    named = [name for name in s.revision.mounts if name in MOUNTS and not (name == "huggingface" and node.cache_dir)]
    wanted = [f"{facts.home}/{MOUNTS[name][0]}" for name in named]
    return [path for path in wanted if path not in found]
