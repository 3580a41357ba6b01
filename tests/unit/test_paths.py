"""Every path of the project that a page names exists."""

import re
from pathlib import Path

import pytest

import sparklab
import sparkops
from support.paths import ROOT

PAGES = [
    "CONTRIBUTING.md",
    "README.md",
    *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*.md"))),
]
PATH = re.compile(r"`((?:sparkops|sparklab|tests|docs|bench|scripts|recipes|playbooks|inventories)/[\w./-]*\w/?)`")

PLACES = (ROOT, *(Path(next(iter(one.__path__))).parent for one in (sparkops, sparklab)))
"""The packages lie elsewhere where the tests run on the installed wheel."""


@pytest.mark.parametrize("page", PAGES)
def test_every_path_that_a_page_names_exists(page: str) -> None:
    named = PATH.findall((ROOT / page).read_text(encoding="utf-8"))
    assert [path for path in named if not any((place / path).exists() for place in PLACES)] == []
