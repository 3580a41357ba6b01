"""Programs that change the system, of which the lab knows only the faults that they end (`repairs.py`)."""

import os

from sparklab.tools.say import fail


def main(name: str, words: list[str]) -> int:
    if os.environ.get("SPARKLAB_SUDO") != "1" and name != "dmesg":
        return fail(f"{name}: this must be run as root")
    return 0
