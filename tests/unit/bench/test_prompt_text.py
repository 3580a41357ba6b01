"""The text of the prompts that comes with sparkops, and the file that takes its place."""

import hashlib
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from sparkops.core.bench.suites import SUITES
from sparkops.session.llama_benchy import SCRIPT

MADE = runpy.run_path(str(SCRIPT), run_name="benchy")
TEXT: str = MADE["own_text"]()
KNOWN = "ecc91ea9814c89a46de425768fb936d19002e17d7d98e9bda659a56e888ba249"


def test_the_text_is_the_one_that_its_name_stands_for() -> None:
    """Runs with equal names are compared: after a change of the text, change the name too, then this hash."""
    assert (MADE["OWN"], hashlib.sha256(TEXT.encode()).hexdigest()) == ("sparkops-1", KNOWN)


def test_the_text_is_longer_than_the_longest_prompt_of_any_suite() -> None:
    """A tokenizer makes about four and a half of its characters one token."""
    longest = max(point.prompt + point.depth for one in SUITES for point in one.points)
    assert len(TEXT) / 5 > longest


def test_no_two_prompts_begin_alike() -> None:
    """vLLM reuses blocks of 16 tokens: about twelve words."""
    words = TEXT.split()
    beginnings = {tuple(words[at : at + 12]) for at in range(len(words) - 11)}
    assert len(beginnings) == len(words) - 11


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "--book: the file for the prompts cannot be read"),
        (b"\xff\xfe", "--book: the file for the prompts cannot be read"),
        (b" \n", "--book: the file for the prompts is empty"),
    ],
)
def test_a_file_that_is_no_text_is_said_in_one_line(content: bytes | None, said: str, tmp_path: Path) -> None:
    book = tmp_path / "book.txt"
    if content is not None:
        book.write_bytes(content)
    ran = subprocess.run(
        [sys.executable, str(SCRIPT)],
        input="\n", check=False, capture_output=True, text=True, timeout=60,
        env={**os.environ, "SPARKOPS_BOOK": str(book)},
    )  # fmt: skip
    assert ran.returncode == 1
    assert ran.stderr.startswith(said)
    assert len(ran.stderr.splitlines()) == 1


def test_a_file_is_named_by_its_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = []
    for name, content in (("a.txt", "word"), ("b.txt", "word"), ("c.txt", "words")):
        (tmp_path / name).write_text(content)
        monkeypatch.setenv("SPARKOPS_BOOK", str(tmp_path / name))
        names.append(MADE["text"]())
    assert names[0] == names[1] == (f"file {hashlib.sha256(b'word').hexdigest()[:12]}", "word")
    assert names[2] != names[0]
