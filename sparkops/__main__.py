"""`python -m sparkops`, and the command that the package installs."""

import sys

from sparkops.cli.main import main


def run() -> None:
    sys.exit(main())


if __name__ == "__main__":
    run()
