"""`python -m sparkops`, and the command that the package installs."""

import sys

from sparkops import signals
from sparkops.errors import Interrupted
from sparkops.report import streams


def run() -> None:
    """A signal or a stream that fails may come at any time, also while modules are imported."""
    signals.listen()
    streams.secure()
    try:
        with signals.deferred():
            from sparkops.cli.main import main  # noqa: PLC0415

        code = streams.verdict(main())
    except KeyboardInterrupt:
        sys.stderr.write(f"error: {Interrupted().message}\n")
        code = Interrupted.exit_code
    signals.over()
    sys.exit(code)


if __name__ == "__main__":
    run()
