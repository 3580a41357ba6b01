"""What the verbs without nodes may import; how long that takes is for `bench/startup.py`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

HEAVY = (
    "paramiko", "fabric", "invoke", "cryptography", "ray", "asyncio", "asyncssh", "rich", "structlog", "tenacity",
    "sparklab", "sparkops.remote", "sparkops.session", "sparkops.phases",
)  # fmt: skip

IMPORTED = """
import sys
from sparkops.cli.main import main
code = main(sys.argv[1:])
print("\\n".join(sorted(sys.modules)), file=sys.stderr)
sys.exit(code)
"""

WITHOUT_POSIX = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name in ("fcntl", "pwd", "grp", "termios", "resource", "tty"):
            raise ImportError(f"{name} is not on this system")

for name in ("fcntl", "pwd", "grp", "termios", "resource", "tty"):
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Blocked())
from sparkops.cli.main import main
sys.exit(main(sys.argv[1:]))
"""

PLANNED = WITHOUT_POSIX.replace(
    "sys.exit(main(sys.argv[1:]))",
    """
from sparkops.remote.network import network
from sparkops.testing.network import SimulatedNetwork
from sparkops.testing.sparks import sparks
with network.replaced(SimulatedNetwork(sparks())):
    sys.exit(main(sys.argv[1:]))
""",
)

LIGHT = [("--help",), ("--version",), ("deploy", "--help"), ("rules",), ("rules", "cluster-lm-head"),
         ("lint", "openai-gpt-oss-120b"), ("recipe", "list"), ("recipe", "search", "coding"),
         ("preflight", "--list"), ("preflight", "--explain", "memory-fits"), ("preflight", "--help"),
         ("advise", "--for", "decode", "--concurrency", "8"),
         ("recipe", "show", "openai-gpt-oss-120b", "--topology", "cluster")]  # fmt: skip


@pytest.mark.parametrize("words", LIGHT, ids=" ".join)
def test_a_verb_without_nodes_imports_nothing_heavy(python: Run, words: tuple[str, ...]) -> None:
    told = python(IMPORTED, *words)
    assert told.code == 0, told.err
    loaded = told.err.split()
    assert [name for name in loaded if name.startswith(tuple(f"{heavy}." for heavy in HEAVY)) or name in HEAVY] == []


@pytest.mark.parametrize("words", LIGHT, ids=" ".join)
def test_a_verb_without_nodes_works_on_a_system_without_posix_modules(python: Run, words: tuple[str, ...]) -> None:
    told = python(WITHOUT_POSIX, *words)
    assert told.code == 0, told.err
    assert told.out


def test_a_plan_over_simulated_nodes_works_on_a_system_without_posix_modules(
    python: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USER", "nvidia")  # where a system without `pwd` tells it
    nodes = tmp_path / "nodes.yml"
    nodes.write_text("all: {hosts: {spark1: {address: 198.51.100.1}, spark2: {address: 198.51.100.2}}}")
    told = python(PLANNED, "-i", str(nodes), "plan", "--topology", "cluster")
    assert told.code == 0, told.err
    assert "docker run" in told.out


def test_the_help_needs_neither_files_nor_report(python: Run) -> None:
    told = python(IMPORTED, "--help")
    assert not {"yaml", "sparkops.files.recipes", "sparkops.rules"} & set(told.err.split())
    assert not [name for name in told.err.split() if name.startswith("sparkops.verbs.")]
