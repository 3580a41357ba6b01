"""What the reference says of commands, rules, recipes and checks is what the registries say."""

import runpy
from pathlib import Path

import pytest

import sparkops
from sparkops import rules

TREE = Path(sparkops.__file__).parents[1]
SCRIPT = TREE / "scripts" / "pages.py"
PAGES = [f"docs/reference/{name}.md" for name in ("commands", "rules", "catalogue", "preflight")] + ["docs/sparkops.1"]
in_a_checkout = pytest.mark.skipif(not SCRIPT.is_file(), reason="no checkout: the pages are not in the package")


@in_a_checkout
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_what_its_registry_says(page: str) -> None:
    written = runpy.run_path(str(SCRIPT))["written"](page)
    assert (TREE / page).read_text(encoding="utf-8") == written, "run `python scripts/pages.py`"


@in_a_checkout
def test_every_rule_is_in_the_page_with_what_it_may_do() -> None:
    text = (TREE / "docs" / "reference" / "rules.md").read_text(encoding="utf-8")
    for rule in rules.RULES:
        assert f"| [{rule.id}](#{rule.id}) | {', '.join(rule.actions)} | {rule.title} |" in text
