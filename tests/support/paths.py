"""Where things lie in the checkout, or in the copy of it that the tests of a wheel run in."""

import os
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
CAPTURES = TESTS / "unit" / "facts" / "cases"
RULE_RECIPES = TESTS / "unit" / "rules" / "recipes"
CORPUS = Path(os.environ.get("SPARKOPS_CORPUS", ROOT.parent / "shared" / "corpus"))
"""Recipes of others; tests skip where there are none."""
ARTICLES = CORPUS.parent / "seeds"
