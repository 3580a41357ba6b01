"""What docs/reference/playbooks.md shows is read as it stands there, and it shows every key."""

import re

from sparkops.core.playbook import shape
from support.paths import ROOT

PAGE = (ROOT / "docs" / "reference" / "playbooks.md").read_text(encoding="utf-8")
BLOCKS = [block for block in re.findall(r"^```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE) if block[0] in "- "]
ROWS = re.findall(r"^\| (`[a-z_`, :]+`) \| (.+?) \| ", PAGE, re.MULTILINE)
CELLS = [example.replace("\\|", "|") for _, cell in ROWS for example in re.findall(r"`([a-z_]+: .+?)`(?:,|$)", cell)]
BEFORE = "- steps:\n    - {command: ls, register: seen}\n    - {command: uname -r, register: kernel}\n"


def key(example):
    return example.partition(":")[0]


def test_whole_examples_are_read(read):
    assert BLOCKS
    for block in BLOCKS:
        assert read(block if block.startswith("-") else BEFORE + block, beside={}, extra=("topology",)).plays


def test_examples_of_keys_are_read(read):
    for example in CELLS:
        step = (
            example
            if key(example) in ("command", "copy", "phase", "reboot", "message")
            else f"command: ls\n      {example}"
        )
        asks = "      until: 'true'\n" if key(example) in ("retries", "delay") else ""
        texts = {
            shape.StepShape: f"{BEFORE}    - {step}\n{asks}",
            shape.StepsPlayShape: f"- {example}\n  steps: [{{command: ls}}]\n",
            shape.VerbPlay: f"- run: deploy\n  {example}\n" if key(example) != "run" else f"- {example}\n",
        }
        for kind, text in texts.items():
            assert key(example) not in shape.keys(kind) or read(text, beside={"note.txt": ""}).plays


def test_every_key_has_an_example():
    every = {name for kind in (shape.StepShape, shape.StepsPlayShape, shape.VerbPlay) for name in shape.keys(kind)}
    assert every - {key(example) for example in CELLS} == {"steps"}
