"""Facts: what was read from a node by commands that change nothing, as frozen values.

`parse` makes them from the capture that `node/facts.sh` prints. Adding a fact: a probe in the script, a parser, a line
in `PROBES`, a field in `Facts`, a capture in `tests/unit/facts/cases`.
"""

from sparkops.core.facts.access import Disk, JobFact, Left, Lock, Orphan, Owned, Sudo, User
from sparkops.core.facts.containers import Container, DockerInfo, DockerVersion
from sparkops.core.facts.fabric import Fabric, Port, ring
from sparkops.core.facts.gpu import Gpu, GpuLoad, GpuProcess, Identity
from sparkops.core.facts.images import Image
from sparkops.core.facts.memory import Memory, Pressure, Swap
from sparkops.core.facts.models import Model, ModelFile
from sparkops.core.facts.network import Firewall, Gid, Interface, Listener, Profile, Rdma, RdmaLink, Route
from sparkops.core.facts.node import Facts
from sparkops.core.facts.peers import Peers, Ping
from sparkops.core.facts.plain import plain
from sparkops.core.facts.probes import NOT_ASKED, PROBES, WHAT_RUNS, absent, parse
from sparkops.core.facts.raw import HEADER, Probe, Unread, Unreadable
from sparkops.core.facts.reading import known
from sparkops.core.facts.schedule import Drop, Scheduled
from sparkops.core.facts.system import Avahi, Boot, Clock, Cpu, Dgx, Driver, HostKey, Kernel, Package, Reboot

__all__ = [
    "HEADER",
    "NOT_ASKED",
    "PROBES",
    "WHAT_RUNS",
    "Avahi",
    "Boot",
    "Clock",
    "Container",
    "Cpu",
    "Dgx",
    "Disk",
    "DockerInfo",
    "DockerVersion",
    "Driver",
    "Drop",
    "Fabric",
    "Facts",
    "Firewall",
    "Gid",
    "Gpu",
    "GpuLoad",
    "GpuProcess",
    "HostKey",
    "Identity",
    "Image",
    "Interface",
    "JobFact",
    "Kernel",
    "Left",
    "Listener",
    "Lock",
    "Memory",
    "Model",
    "ModelFile",
    "Orphan",
    "Owned",
    "Package",
    "Peers",
    "Ping",
    "Port",
    "Pressure",
    "Probe",
    "Profile",
    "Rdma",
    "RdmaLink",
    "Reboot",
    "Route",
    "Scheduled",
    "Sudo",
    "Swap",
    "Unread",
    "Unreadable",
    "User",
    "absent",
    "known",
    "parse",
    "plain",
    "ring",
]
