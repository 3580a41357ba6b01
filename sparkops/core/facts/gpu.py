"""What nvidia-smi prints about the GPU, and whether the node is a GB10."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sparkops.core.facts.raw import Unread
from sparkops.core.facts.reading import lines, number
from sparkops.core.facts.system import Cpu, Dgx

PRODUCTS = re.compile("dgx[_ ]spark|gx10|gb10|ms-c931|edgexpert|zgx nano|thinkstation pgx|gn100|ai top atom")
CORES = ("Cortex-X925", "Cortex-A725")


@dataclass(frozen=True)
class Gpu:
    name: str
    compute_capability: str
    driver: str


@dataclass(frozen=True)
class GpuLoad:
    """What the GPU does now; None where the driver reports nothing. 208 MHz at idle is normal."""

    clock_mhz: int | None
    power_watts: float | None
    utilization_percent: int | None
    temperature_celsius: int | None
    performance_state: str
    reasons: str


@dataclass(frozen=True)
class GpuProcess:
    """A process that computes on the GPU. `container` is the ID of the container it runs in, if it does."""

    pid: int
    name: str
    used_mib: int | None
    container: str | None


@dataclass(frozen=True)
class Identity:
    """`certain` by the GPU's own answer, `broken-driver` by everything else, or `not` a GB10."""

    verdict: Literal["certain", "broken-driver", "not"]
    reason: str

    @property
    def gb10(self) -> bool:
        return self.verdict != "not"


def smi(text: str) -> Gpu:
    for line in lines(text):
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) == 3 and re.fullmatch(r"\d+\.\d+|\[N/A\]", cells[1]) and re.match(r"\d+\.\d", cells[2]):
            return Gpu(*cells)
    raise ValueError(next(lines(text), "nothing was printed"))


def load(text: str) -> GpuLoad:
    row = next((line for line in lines(text) if line.count(",") >= 5), "")
    if not row:
        raise ValueError(next(lines(text), "nothing was printed"))
    cells = [cell.strip() for cell in row.split(",")]
    power = re.match(r"\d{1,6}(\.\d+)?(?![\d.])", cells[1])
    return GpuLoad(
        clock_mhz=_leading(cells[0]),
        power_watts=float(power[0]) if power else None,
        utilization_percent=_leading(cells[2]),
        temperature_celsius=_leading(cells[3]),
        performance_state=cells[4],
        reasons=cells[5],
    )


def processes(text: str) -> tuple[GpuProcess, ...]:
    holders = {int(pid): id for pid, id in re.findall(r"^cgroup (\d+) \S*?([0-9a-f]{64})", text, re.M)}
    found = []
    for line in lines(text):
        pid, *name, used = line.split(",") if line.count(",") >= 2 else ("", "")
        if (known := number(pid)) is not None:
            found.append(GpuProcess(known, ",".join(name).strip(), _leading(used), holders.get(known)))
    return tuple(found)


def identity(gpu: Gpu) -> Identity:
    told = f"{gpu.name}, compute capability {gpu.compute_capability}"
    if "GB10" in re.split(r"\W+", gpu.name) or gpu.compute_capability == "12.1":
        return Identity("certain", told)
    return Identity("not", f"its GPU is {told}")


def signs(cpu: Cpu | Unread, dmi: Mapping[str, str] | Unread, dgx: Dgx | Unread) -> list[str]:
    """Signs of a GB10 other than the GPU's own answer."""
    found = []
    if isinstance(cpu, Cpu) and set(CORES) <= set(cpu.models) and cpu.count == 20:
        found.append("20 CPU cores (Cortex-X925 and Cortex-A725)")
    if not isinstance(dmi, Unread):
        board = f"{dmi.get('product_name', '')} {dmi.get('board_name', '')}".strip()
        if PRODUCTS.search(board.lower()):
            found.append(f"board {board}")
    if isinstance(dgx, Dgx) and "DGX Spark" in (dgx.name, dgx.pretty_name.removeprefix("NVIDIA ")):
        found.append("/etc/dgx-release says DGX Spark")
    return found


def _leading(text: str) -> int | None:
    found = re.match(r"\s*(\d{1,9})(?!\d)", text)
    return int(found[1]) if found else None
