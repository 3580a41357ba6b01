"""Whole evenings as a person sees them: each file below `transcripts` is typed and must come out as it says.

What its lines mean stands in `support.evenings`. To add a case, write the lines that begin with `$`, `$-`, `!` and `?`,
and run `make golden`. `! fresh` begins a case of its own.
"""

from pathlib import Path

import pytest

from support import golden
from support.evenings import Evening

NODES = {"three": 3, "four": 4}
"""By the first word of a file's name; else there are two."""

FILES = sorted((Path(__file__).parent / "transcripts").glob("*.txt"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_evening_comes_out_as_its_transcript_says(path: Path, tmp_path: Path) -> None:
    evening = Evening(tmp_path, nodes=NODES.get(path.stem.partition("-")[0], 2))
    typed = [line for line in path.read_text(encoding="utf-8").splitlines() if line[:1] in {*"$!?#"}]
    golden.hold(path, "".join(evening.after(line) for line in typed))
