"""What happens to output when whoever reads it goes away, or cannot show it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import sparkops

PLACE = str(Path(next(iter(sparkops.__path__))).parent)


def started(*words: str, **environ: str) -> subprocess.Popen[bytes]:
    path = os.pathsep.join(filter(None, (PLACE, os.environ.get("PYTHONPATH"))))
    return subprocess.Popen(
        [sys.executable, "-m", "sparkops", *words],
        env={**os.environ, "PYTHONPATH": path, **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_a_reader_that_went_away_is_no_failure() -> None:
    with started("rules") as run:
        assert run.stdout is not None
        assert run.stderr is not None
        run.stdout.close()
        assert run.stderr.read() == b""
        assert run.wait() == 0


def test_a_failure_keeps_its_code_when_its_reader_went_away(tmp_path: Path) -> None:
    with started("-i", str(tmp_path / "none.yml"), "status", "--json") as run:
        assert run.stdout is not None
        run.stdout.close()
        assert run.wait() == 2


def shell(line: str, *words: str) -> subprocess.CompletedProcess[str]:
    """The tool behind `$@` in a line of the shell."""
    path = os.pathsep.join(filter(None, (PLACE, os.environ.get("PYTHONPATH"))))
    return subprocess.run(
        ["sh", "-c", line, "sh", sys.executable, "-m", "sparkops", *words],
        env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_streams_that_are_closed_are_no_failure() -> None:
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        ran = shell(f'"$@" {closed}', "rules")
        assert (ran.returncode, ran.stderr) == (0, ""), closed


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a disk that is always full")
def test_output_that_cannot_be_written_is_said_and_is_no_success() -> None:
    for words in (("rules",), ("--help",), ("rules", "--json")):
        ran = shell('"$@" >/dev/full', *words)
        assert (ran.returncode, ran.stderr) == (
            2, "error: the command did its work, but its output cannot be written: no space left on device\n",
        ), words  # fmt: skip
    assert shell('"$@" >/dev/full', "nonsense").returncode == 2
    assert shell('"$@" 2>/dev/full', "rules").returncode == 0


def test_a_terminal_without_our_characters_shows_others_instead() -> None:
    with started("recipe", "show", "openai-gpt-oss-120b", PYTHONIOENCODING="ascii") as run:
        out, err = run.communicate()
        assert (run.returncode, err) == (0, b"")
        assert out.decode("ascii")


def test_no_colour_reaches_a_pipe() -> None:
    with started("rules") as run:
        out, _ = run.communicate()
        assert b"\x1b" not in out


def test_a_bug_is_said_with_its_log_and_exits_one(tmp_path: Path) -> None:
    """A library that is broken on this machine stands for any error of ours."""
    (tmp_path / "paramiko").mkdir()
    (tmp_path / "paramiko" / "__init__.py").write_text("raise RuntimeError('broken')\n", encoding="utf-8")
    path = os.pathsep.join((str(tmp_path), PLACE))
    inventory = tmp_path / "inventory.yml"
    inventory.write_text("all: {hosts: {a: {address: 127.0.0.1}}}\n", encoding="utf-8")
    with started("-i", str(inventory), "status", "--json", PYTHONPATH=path) as run:
        out, err = run.communicate()
    document = json.loads(out)
    assert run.returncode == document["exit_code"] == 1
    assert document["error"]["kind"] == "bug"
    assert "RuntimeError: broken" in document["error"]["message"]
    assert "Traceback" in Path(document["run_log"]).read_text(encoding="utf-8")
    assert document["run_log"] in err.decode()
