"""Reference tables are typed, complete, and number for number what their sources print."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sparkops.core import reference
from sparkops.core.reference import ReferenceTable
from sparkops.files import recipes
from sparkops.files import reference as load_reference
from sparkops.files.yaml_positions import parse
from support import golden
from support.paths import ARTICLES, CORPUS

CATALOGUE = (
    "minimax-m2.5-awq",
    "nemotron-3-nano-nvfp4",
    "openai-gpt-oss-120b",
    "openai-gpt-oss-120b-canonical",
    "openai-gpt-oss-120b-claude",
    "openai-gpt-oss-120b-community",
    "openai-gpt-oss-120b-concurrency",
    "openai-gpt-oss-120b-ngc",
    "qwen3-coder-next-fp8",
    "qwen3-next-80b-a3b-instruct-fp8",
)
needs_articles = pytest.mark.skipif(not ARTICLES.is_dir(), reason="the articles are not here ($SPARKOPS_CORPUS)")


def table(recipe: str, name: str) -> ReferenceTable:
    return next(one for one in load_reference.tables(recipe) if one.id == name)


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_table_has_a_source_a_date_and_a_unit_where_it_measures(name: str) -> None:
    tables = load_reference.tables(name)
    assert len({one.id for one in tables}) == len(tables)
    for one in tables:
        assert one.source, one.id
        assert one.date, one.id
        assert all(column.unit for column in one.columns if column.metric), one.id
        assert all(len(row) == len(one.columns) for row in one.rows), one.id


def test_reference_files_belong_to_recipes() -> None:
    folder = recipes.packaged("recipes") / load_reference.FOLDER
    assert {path.stem for path in folder.iterdir()} <= set(CATALOGUE)


def test_points_are_what_can_be_compared_by_metric_topology_and_concurrency() -> None:
    found = {
        (p.metric, p.topology, p.concurrency): p.value
        for p in reference.points([table("openai-gpt-oss-120b", "decode-by-topology")])
    }
    assert found["decode", "cluster", 8] == 231.0
    assert found["decode", "2x-solo", 64] == 567.9
    assert len(found) == 21


def test_what_others_measured_for_comparison_is_no_point_of_the_recipe() -> None:
    found = list(reference.points([table("openai-gpt-oss-120b-concurrency", "against-others")]))
    assert {(p.concurrency, p.value) for p in found} == {(5, 118.7), (10, 160.5), (1, 60.4), (256, 285.8)}


def test_the_communitys_rows_agree_with_themselves() -> None:
    """The article prints them without gaps; split any other way, tokens, latency and rate do not fit each other."""
    for concurrency, total, output, ttft, itl, whole in table("openai-gpt-oss-120b-community", "latency").rows:
        tokens = (float(whole) * 1000 - float(ttft)) / float(itl) + 1
        assert 110 <= tokens <= 130
        assert int(concurrency) * tokens / float(whole) == pytest.approx(float(output), rel=0.1)
        assert float(total) / float(output) == pytest.approx(9.27, rel=0.02)


def test_a_wrong_table_is_one_line_with_its_place() -> None:
    def told(line: str) -> str:
        return str(reference.read(parse(line.encode(), "mine.yml")))

    golden.hold_lines(Path(__file__).parent / "tables.txt", partial(golden.refusal, told))


def test_ones_own_tables_lie_beside_ones_own_recipes(tmp_path: Path) -> None:
    (tmp_path / "reference").mkdir()
    text = "tables: [{id: a, title: b, source: me, date: now, columns: [{name: x}], rows: [[1]]}]\n"
    (tmp_path / "reference" / "openai-gpt-oss-120b.yml").write_text(text)
    assert load_reference.tables("openai-gpt-oss-120b", tmp_path)[0].source == "me"
    assert load_reference.tables("nobody-has-this", tmp_path) == ()


def numbers(text: Any) -> list[float]:
    """All numbers of a cell, whatever stands around them."""
    return [float(word.replace(",", "")) for word in re.findall(r"\d[\d,]*(?:\.\d+)?", str(text))]


def printed(path: Path) -> Iterator[list[list[list[float]]]]:
    """The Markdown tables of a page: of each row's cells the numbers; heads and rules left out."""
    block: list[list[list[float]]] = []
    for line in [*path.read_text(encoding="utf-8").splitlines(), ""]:
        if line.startswith("|"):
            cells = [numbers(cell) for cell in line.strip().strip("|").split("|")]
            block += [cells] if any(cells) else []
        elif block:
            yield block
            block = []


def ours(one: ReferenceTable) -> list[list[list[float]]]:
    return [[numbers("" if cell is None else cell) for cell in row] for row in one.rows]


def article(start: str) -> Path:
    return next(path for path in ARTICLES.iterdir() if path.name.startswith(start))


@needs_articles
@pytest.mark.parametrize(
    ("page", "place", "recipe", "name"),
    [
        ("001", 0, "openai-gpt-oss-120b-concurrency", "throughput"),
        ("001", 1, "openai-gpt-oss-120b-concurrency", "against-others"),
        ("004", 0, "openai-gpt-oss-120b-ngc", "batch-scaling"),
        ("004", 1, "openai-gpt-oss-120b-ngc", "long-context"),
        ("004", 2, "openai-gpt-oss-120b-ngc", "hardware"),
        ("004", 3, "openai-gpt-oss-120b-ngc", "before-after"),
    ],
)
def test_a_table_has_every_number_of_its_page_in_its_place(page: str, place: int, recipe: str, name: str) -> None:
    block = list(printed(article(page)))[place]
    found = ours(table(recipe, name))
    assert block[len(block) - len(found) :] == found
    assert len(block) - len(found) <= 1, "a head may have numbers, such as Batch-1"


@needs_articles
def test_no_table_of_the_pages_is_left_out() -> None:
    assert [len(list(printed(article(page)))) for page in ("000", "001", "002", "003", "004")] == [0, 2, 0, 0, 4]


@needs_articles
def test_the_communitys_table_is_the_articles_line_by_line() -> None:
    text = article("002").read_text(encoding="utf-8")
    for concurrency, total, output, ttft, itl, whole in table("openai-gpt-oss-120b-community", "latency").rows:
        assert f"{concurrency}{total:,}{output}{ttft} ms{itl} ms{whole} s\n" in text
    assert "3,975 tokens per second" in text
    assert [row[2] for row in table("openai-gpt-oss-120b-community", "single-stream").rows] == [40, 60, 70]


@needs_articles
def test_the_same_numbers_stand_in_the_page_without_rulers() -> None:
    """The first copy of the page has its cells without gaps."""
    lines = article("000").read_text(encoding="utf-8").splitlines()
    for row in table("openai-gpt-oss-120b-concurrency", "throughput").rows:
        assert "".join(f"{cell:,}" for cell in row) in lines


@needs_articles
def test_one_request_of_the_guide_is_as_printed() -> None:
    text = article("004").read_text(encoding="utf-8")
    ((prompt, completion, latency, rate),) = table("openai-gpt-oss-120b-ngc", "interactive").rows
    assert f"**{latency} ms**" in text
    assert f"**{rate} tok/sec**" in text
    assert f"~{numbers(prompt)[0]:.0f} tokens" in text
    assert f"Completion: {completion} tokens" in text


@pytest.mark.skipif(not (CORPUS.parent / "reference" / "serving.md").is_file(), reason="the notes are not here")
def test_decode_by_topology_is_as_the_comparison_prints_it() -> None:
    blocks = list(printed(CORPUS.parent / "reference" / "serving.md"))
    assert ours(table("openai-gpt-oss-120b", "decode-by-topology")) in [block[-7:] for block in blocks]
