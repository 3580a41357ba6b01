"""Sizes as people read them: memory and models in GiB, as engines count them; images in GB, as Docker does."""

GIB_KIB = 2**20
"""A GiB in KiB, the unit of /proc/meminfo and `df`."""

PER_UNIT = {"": 1, "k": 1, "m": 2**10, "g": 2**20, "t": 2**30}
"""KiB in a unit, by its first letter: the kernel's `kB` are KiB too."""


def gib(kib: float) -> str:
    """Memory: as many digits as one should rely on."""
    return f"{kib / GIB_KIB:.0f} GiB" if kib >= 10 * GIB_KIB else f"{kib / GIB_KIB:.1f} GiB"


def kib_text(kib: float) -> str:
    """As a person writes it: the largest unit of which there is at least one."""
    for unit in "tgm":
        if abs(kib) >= PER_UNIT[unit]:
            return f"{kib / PER_UNIT[unit]:.1f}".removesuffix(".0") + f" {unit.upper()}iB"
    return f"{kib:.0f} KiB"


def gb(count: float) -> str:
    """Bytes of an image or a file."""
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.0f} MB"


def bytes_text(count: float) -> str:
    """Bytes of a model, from B to GiB; as `node/modelmeter.py` prints them."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"
