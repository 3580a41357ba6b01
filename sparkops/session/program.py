"""Programs on this machine that are run beside sparkops."""

import contextlib
import os
import signal
import subprocess


def end_with_all(process: "subprocess.Popen[bytes]") -> None:
    """End a program that leads a session of its own, and the programs that it started."""
    with contextlib.suppress(ProcessLookupError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
