"""Every stub starts it as `python -I -S main.py NAME ARGS…`; it calls the program's module."""

import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

import importlib  # noqa: E402

from sparklab.tools.registry import CHANGING, INSIDE, TOOLS  # noqa: E402


def run(name: str, words: list[str]) -> int:
    """Every module has `main(name, words) -> exit code`."""
    module = importlib.import_module((TOOLS | INSIDE)[name])
    try:
        code: int = module.main(name, words)
        sys.stdout.flush()
        if code == 0 and name in CHANGING:
            from sparklab.tools import repairs

            repairs.done(name, words)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = 141
    except KeyboardInterrupt:
        code = 130
    return code


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.argv[2:]))
