"""What starting sparkops costs over starting Python: `python bench/startup.py [RUNS]`, median of ten by default.

The verbs measured need no node, so what they take is imports and our own files. Tests hold the set of imported
modules instead, as a test that measures time fails on a busy machine.
"""

import statistics
import subprocess
import sys
import time

BUDGET_MS = 120
VERBS = (("--help",), ("--version",), ("rules",), ("recipe", "list"))


def median_ms(words: list[str], runs: int) -> float:
    """The median wall time of a command; one run before it fills the page cache."""
    taken = []
    for _ in range(runs + 1):
        begun = time.perf_counter()
        subprocess.run([sys.executable, *words], stdout=subprocess.DEVNULL, check=True)
        taken.append((time.perf_counter() - begun) * 1000)
    return statistics.median(taken[1:])


def main(runs: int) -> int:
    bare = median_ms(["-c", "pass"], runs)
    print(f"{'python':<14} {bare:6.1f} ms")
    over = 0
    for verb in VERBS:
        extra = median_ms(["-m", "sparkops", *verb], runs) - bare
        over += extra > BUDGET_MS
        print(f"{' '.join(verb):<14} {extra:6.1f} ms more{'' if extra <= BUDGET_MS else f', over {BUDGET_MS}'}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10))
