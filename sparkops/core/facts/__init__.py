"""Facts: what was read from a node by commands that change nothing, as frozen values.

`parse` makes them from the capture that `node/facts.sh` prints. To add a fact: a probe in the script, a parser, a
field of `Facts` that names it, a capture in `tests/unit/facts/cases`.
"""

from sparkops.core.facts.access import Disk, JobFact, Left, Lock, Owned, Sudo, User
from sparkops.core.facts.containers import Container
from sparkops.core.facts.cx7 import Link, Port
from sparkops.core.facts.gpu import Gpu, GpuLoad, GpuProcess
from sparkops.core.facts.images import Image
from sparkops.core.facts.memory import Memory
from sparkops.core.facts.models import Model
from sparkops.core.facts.network import Firewall, Interface, Rdma
from sparkops.core.facts.node import Facts
from sparkops.core.facts.peers import Peers, Ping
from sparkops.core.facts.probes import HOW_IT_RUNS, NOT_ASKED, PROBES, WHAT_RUNS, absent, parse
from sparkops.core.facts.raw import Unread, Unreadable
from sparkops.core.facts.reading import known, plain
from sparkops.core.facts.schedule import Drop, Scheduled
from sparkops.core.facts.system import Boot, Clock, Package, Reboot

__all__ = [
    "HOW_IT_RUNS",
    "NOT_ASKED",
    "PROBES",
    "WHAT_RUNS",
    "Boot",
    "Clock",
    "Container",
    "Disk",
    "Drop",
    "Link",
    "Facts",
    "Firewall",
    "Gpu",
    "GpuLoad",
    "GpuProcess",
    "Image",
    "Interface",
    "JobFact",
    "Left",
    "Lock",
    "Memory",
    "Model",
    "Owned",
    "Package",
    "Peers",
    "Ping",
    "Port",
    "Rdma",
    "Reboot",
    "Scheduled",
    "Sudo",
    "Unread",
    "Unreadable",
    "User",
    "absent",
    "known",
    "parse",
    "plain",
]
