"""`--json`: one document on stdout, whatever happens; usage errors are in typed.txt."""

import re

from sparkops.cli.registry import VERBS
from support.paths import ROOT

PAGE = (ROOT / "docs" / "reference" / "json.md").read_text(encoding="utf-8")
SECTIONS = re.findall(r"^### (`[^\n]+`)\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
"""The commands in each heading, and the text below it."""


def test_every_document_is_described() -> None:
    described = sorted(name for heading, _ in SECTIONS for name in re.findall(r"`([a-z ]+)`", heading))
    assert described == sorted(name for name, verb in VERBS.items() if verb.run)


def test_every_section_shows_the_keys_and_explains_no_others() -> None:
    for heading, text in SECTIONS:
        shapes = re.findall(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        shown = set(re.findall(r"[a-z_]+", " ".join(shapes)))
        assert shown, heading
        explained = re.findall(r"^- ([^:\n]+):", text, re.MULTILINE)
        keys = {key for start in explained for path in re.findall(r"`([a-z_.]+)`", start) for key in path.split(".")}
        assert keys <= shown, heading
