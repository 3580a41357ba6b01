"""A hub, and a node's home to fetch from it into."""

from support.models import home, hub

__all__ = ["home", "hub"]
