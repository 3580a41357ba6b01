"""Other people's recipes through the command line: each is shown, linted and exported, or refused in words."""

from collections.abc import Callable

import pytest

from support.paths import CORPUS
from support.person import Ran

FILES = sorted(str(path) for ending in ("yaml", "yml") for path in CORPUS.rglob(f"*.{ending}"))
VERBS = (
    ("recipe", "show"),
    ("recipe", "show", "--topology", "solo"),
    ("recipe", "show", "--topology", "cluster"),
    ("lint",),
    *(("recipe", "export", "--schema", schema) for schema in ("1", "2", "sparkops")),
)

pytestmark = pytest.mark.skipif(not FILES, reason=f"no recipes in {CORPUS}")


@pytest.mark.parametrize("words", VERBS, ids=" ".join)
def test_every_recipe_is_answered_or_refused_in_words(sparkops: Callable[..., Ran], words: tuple[str, ...]) -> None:
    ran = {file: sparkops(*words, file) for file in FILES}
    wrong = {file: one.err for file, one in ran.items() if one.code not in (0, 2, 3) or "Traceback" in one.err}
    assert wrong == {}
    assert [file for file, one in ran.items() if one.code == 0 and not one.out] == []
