"""Programs that change the system, of which the lab knows only the faults that they end (`repairs.py`)."""

import os

from sparklab.tools.say import fail, out


def main(name: str, words: list[str]) -> int:
    if os.environ.get("SPARKLAB_SUDO") != "1" and name != "dmesg":
        return fail(f"{name}: this must be run as root")
    if name == "dmesg":
        out("[    0.000000] Memory: 117964800K/127598832K available, 9437184K reserved")
        out("[  812.441920] NVRM: Xid (PCI:000f:01:00): 79, GPU has fallen off the bus.")
    return 0
