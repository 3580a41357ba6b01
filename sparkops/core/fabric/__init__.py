"""The fabric: the QSFP ports of all nodes, what connects them, and what kind of network that is."""

from sparkops.core.fabric.cabling import Cabling, Kind, cabling_of
from sparkops.core.fabric.graph import End, Fabric, Segment, graph
from sparkops.core.fabric.links import links

__all__ = ["Cabling", "End", "Fabric", "Kind", "Segment", "cabling_of", "graph", "links"]
