"""Checks of the GPU in use: which processes use it, whether containers get it, whether it is slow or hot."""

from collections.abc import Iterator

from sparkops.checks.check import CONTAINERS, CannotTell, Check, Here, Said, fail, good, read, some, warn
from sparkops.core.facts import Container, Facts, Gpu, GpuLoad, GpuProcess, Unread, known

MUCH_MIB = 2048
"""A desktop takes a few hundred MiB."""

BUSY, STUCK_MHZ, STUCK_WATTS, SLOW_MHZ = 80, 900, 35.0, 1000
HOT_GPU, HOT_ZONE, HOT_IDLE, IDLE = 88, 98.0, 75, 5
THERMAL = 0x20 | 0x40
OTHER_SLOWDOWNS = 0x08 | 0x80


@Check(
    id="gpu-free",
    title="No process outside sparkops uses the GPU",
    why="CPU and GPU share one memory. The engine cannot use memory that another process holds.",
    source="nvidia-smi --query-compute-apps; joeynyc/spark-doctor and similar tools",
    hint="find the process: sparkops memory; stop it if it is yours",
    reads=("gpu-processes", *CONTAINERS),
).each_node
def processes(here: Here) -> Iterator[Said]:
    """Foreign processes and containers; `memory-fits` checks whether the memory still suffices."""
    containers = {one.id: one.name for one in here.facts.containers}
    for one in foreign(here):
        where = f" in the container {containers.get(one.container, one.container[:12])}" if one.container else ""
        size = f" and holds {one.used_mib / 1024:.0f} GiB" if one.used_mib is not None else ""
        yield warn(f"{one.name}{where} uses the GPU{size}", evidence=f"pid {one.pid}")


def foreign(here: Here) -> list[GpuProcess]:
    """The processes outside sparkops that hold much GPU memory, or of which it is not known how much."""
    ours = {one.id for one in here.facts.containers if one.ours}
    found = (one for one in read(here.facts.gpu_processes) if one.container not in ours)
    return [one for one in found if one.used_mib is None or one.used_mib >= MUCH_MIB]


@Check(
    id="gpu-strangers",
    title="Only sparkops containers have access to the GPU",
    why="sparkops never stops containers that it did not start. The engine cannot use the memory that they hold.",
    source="docker inspect: HostConfig.DeviceRequests",
    hint="if they are yours, stop them on the node: docker stop NAME",
    reads=CONTAINERS,
).each_node
def strangers(here: Here) -> Iterator[Said]:
    found = [one.name for one in stranger_containers(here)]
    read(here.facts.docker_ps)
    if found:
        yield warn(
            f"containers that sparkops did not start have access to the GPU: {some(found)}",
            f"if they are yours, stop them on the node: docker stop {' '.join(found)}",
        )


def stranger_containers(here: Here) -> list[Container]:
    return [one for one in here.facts.containers if one.gpu and one.runs and not one.ours]


@Check(
    id="gpu-in-container",
    title="A container can use the GPU",
    why='Without nvidia-container-toolkit or its CDI files, `--gpus all` fails: could not select device driver "".',
    source="NVIDIA Container Toolkit docs; on DGX OS, containers can use the GPU without an nvidia runtime",
    hint=(
        "on the node: sudo apt install nvidia-container-toolkit && sudo systemctl restart docker; then test it: "
        "sparkops preflight --deep"
    ),
    severity="fail",
    reads=("nvidia-smi", "packages", "cdi"),
).each_node
def in_container(here: Here) -> Iterator[Said]:
    """By a test container, else by the installed parts. Stock DGX OS needs no `nvidia` runtime."""
    deep = here.s.peers.get(here.name)
    tried = None if deep is None or isinstance(deep, Unread) else deep.gpu
    if isinstance(tried, str):
        yield good(evidence=f"a test container printed: {tried.splitlines()[0] if tried else 'nothing'}")
    elif isinstance(tried, Unread):
        yield fail(f"a container with --gpus all fails: {tried.reason}", _cure(tried.reason))
    else:
        yield from _parts(here)


def _cure(reason: str) -> str:
    """A hint if the driver fails; empty if the check's own hint (install the toolkit) is right."""
    if "version mismatch" in reason or "driver not loaded" in reason:
        return "the cause is the driver, not the container; on the node, when no model serves: sudo reboot"
    return ""


def _parts(here: Here) -> Iterator[Said]:
    gpu, packages, cdi = here.facts.nvidia_smi, read(here.facts.packages), known(here.facts.cdi, ())
    toolkit = packages.get("nvidia-container-toolkit")
    there = toolkit is not None and toolkit.installed
    if not isinstance(gpu, Gpu) and (there or cdi):
        raise CannotTell("the GPU does not answer (see the check driver)")
    if toolkit is not None and there:
        yield good(
            evidence=f"nvidia-container-toolkit {toolkit.version}, {len(cdi)} CDI files; --deep tests a container"
        )
    elif cdi:
        yield good(evidence=f"the package nvidia-container-toolkit is missing, but CDI files exist: {', '.join(cdi)}")
    else:
        yield fail("nvidia-container-toolkit is not installed, and no CDI file exists")


@Check(
    id="gpu-clock",
    title="The GPU is not stuck at a low clock under load",
    why=(
        "After a voltage drop, or with a weak power adapter, the power controller locks the GPU at 500 to 850 MHz. The "
        "GPU then takes only 5 to 15 W at 96 % load. A reboot does not help."
    ),
    source="parallelArchitect/spark-gpu-throttle-check; owners' reports of a 14 W limit",
    hint="shut the node down, unplug the power for at least a minute, then plug in the original 240 W adapter",
    severity="fail",
    reads=("gpu-load",),
).each_facts
def wedge(facts: Facts) -> Iterator[Said]:
    """Judged only under load: an idle GPU runs at 208 MHz and 4 W."""
    load = read(facts.gpu_load)
    told = shown(load)
    if load.utilization_percent is None or load.utilization_percent < BUSY:
        yield good("not judged: the GPU has no load", told)
    elif _stuck(load) and not _reasons(load) & (THERMAL | OTHER_SLOWDOWNS):
        yield fail(f"the GPU is stuck at {load.clock_mhz} MHz under load", evidence=told)
    elif _reasons(load) & OTHER_SLOWDOWNS:
        yield warn("the power supply throttles the GPU", evidence=told)
    elif load.clock_mhz is not None and load.clock_mhz < SLOW_MHZ and not _reasons(load) & THERMAL:
        yield warn(f"the GPU runs at {load.clock_mhz} MHz under load", evidence=told)
    else:
        yield good(evidence=told)


def _stuck(load: GpuLoad) -> bool:
    slow = load.clock_mhz is not None and load.clock_mhz <= STUCK_MHZ
    return slow and (load.power_watts is None or load.power_watts <= STUCK_WATTS)


@Check(
    id="thermals",
    title="The node is not too hot",
    why="Under load, a GPU stays below 88 °C, sensors below 98 °C. More, or heat at idle, means dust or a bad fan.",
    source="owners' measurements: 46 °C without load, 90 to 97 °C under load",
    hint=(
        "clear the air vents; until then limit the GPU clock, on the node: sudo nvidia-smi -lgc 300,2200 "
        "(sudo nvidia-smi -rgc ends that)"
    ),
    reads=("gpu-load", "thermal"),
).each_facts
def thermals(facts: Facts) -> Iterator[Said]:
    load, zones = facts.gpu_load, facts.thermal
    if isinstance(load, Unread) and isinstance(zones, Unread):
        read(zones)
    hottest = max(known(zones, ()), default=0.0)
    told = f"hottest zone {hottest:.0f} °C" + (f"; {shown(load)}" if isinstance(load, GpuLoad) else "")
    if isinstance(load, GpuLoad):
        degrees, busy = load.temperature_celsius or 0, load.utilization_percent or 0
        if _reasons(load) & THERMAL or degrees >= HOT_GPU:
            yield warn(f"the GPU is too hot, or heat throttles it: {degrees} °C", evidence=told)
        elif degrees >= HOT_IDLE and busy < IDLE:
            yield warn(f"the GPU is at {degrees} °C without load", evidence=told)
    if hottest >= HOT_ZONE:
        yield warn(f"the hottest sensor (thermal zone) is at {hottest:.0f} °C", evidence=told)
    yield good(evidence=told)


def _reasons(load: GpuLoad) -> int:
    try:
        return int(load.reasons, 16)
    except ValueError:
        return 0


def shown(load: GpuLoad) -> str:
    watts = "?" if load.power_watts is None else f"{load.power_watts:.0f}"
    return (
        f"{load.clock_mhz} MHz, {watts} W, {load.utilization_percent} % load, {load.temperature_celsius} °C, "
        f"throttle reasons {load.reasons}"
    )
