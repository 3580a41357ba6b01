"""Command lines of nonsense that once hung or were reported as a bug: one line about what is wrong, exit code 2."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.person import Ran

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")

LONG = "x" * 10_000
LINES = (
    ("lint pipe.yml", "pipe.yml:1: is empty"),
    ("lint --flags pipe.yml good.yml", "pipe.yml:1: is not JSON"),
    ("lint --flags /dev/zero good.yml", "/dev/zero:1: is not"),
    ("recipe export pipe.yml --schema 2", "pipe.yml:1: is empty"),
    ("playbook lint pipe.yml", "pipe.yml:1: is empty"),
    ("-i pipe.yml status", "pipe.yml:1: is empty"),
    ("play pipe.yml --list-steps", "pipe.yml:1: is empty"),
    (f"bench run --tokenizer {LONG} --url http://x --model m", "no such file"),
    (f"init 127.0.0.1 --ask-pass --key-file {LONG} -o o.yml", "no public key"),
    ("init 127.0.0.1 --ask-pass --key-file ~nobody-of-this-name/key -o o.yml", "no public key: ~nobody-of-this-name"),
    (f"init 127.0.0.1 -o {LONG}/o.yml --yes", "cannot be written: file name too long"),
)


@pytest.mark.parametrize(("line", "said"), LINES, ids=[line[:40] for line, _ in LINES])
def test_nonsense_is_named_and_nothing_waits_for_it(sparkops: Callable[..., Ran], line: str, said: str) -> None:
    os.mkfifo("pipe.yml")
    Path("good.yml").write_text("model: org/m\ncontainer: image\n")
    told = sparkops(*line.split())
    assert told.code == 2
    assert said in told.out + told.err


def test_a_home_of_nobody_in_an_inventory_is_a_key_that_does_not_exist(sparkops: Callable[..., Ran]) -> None:
    Path("inv.yml").write_text("all: {hosts: {a: {address: 127.0.0.1, port: 1, key_file: ~nobody-of-this-name/k}}}\n")
    assert sparkops("-i", "inv.yml", "status").code == 4


def test_a_pipe_that_someone_writes_to_is_read_to_its_end() -> None:
    """As in `sparkops lint <(make-recipe)`."""
    reader, writer = os.pipe()
    tool = [sys.executable, "-m", "sparkops", "lint", f"/dev/fd/{reader}"]
    with subprocess.Popen(tool, pass_fds=[reader], stdout=subprocess.PIPE, text=True) as process:
        os.close(reader)
        os.write(writer, b"model: org/m\n")
        os.write(writer, b"container: image\n")
        os.close(writer)
        assert process.stdout
        assert "mounts-required" in process.stdout.read()
