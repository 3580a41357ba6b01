"""The two streams of a small program."""

import sys


def out(text: str) -> None:
    sys.stdout.write(text + "\n")


def err(text: str) -> None:
    sys.stdout.flush()
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def fail(text: str, code: int = 1) -> int:
    err(text)
    return code
