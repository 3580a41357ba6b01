"""Whether a command line changes a node, judged by the frame that a client may put around its commands."""

import shlex


def reads(line: str) -> bool:
    """Whether a command only reads: the `-` in `sh -c TEXT run TIMEOUT BYTES - WORDS…` marks it; a lock is neither.

    Anything without that frame counts as a change.
    """
    try:
        words = shlex.split(line)
    except ValueError:
        return False
    for place, word in enumerate(words[2:], start=2):
        if words[place - 2] != "-c":
            continue
        if word == "lock":
            return True
        if word == "run":
            return words[place + 3 : place + 4] == ["-"] or words[place + 7 : place + 8] == ["lock"]
    return False
