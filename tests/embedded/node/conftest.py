"""A fresh node for each shell: what a script does is the same in both."""

from support.shells import node, nodes

__all__ = ["node", "nodes"]
