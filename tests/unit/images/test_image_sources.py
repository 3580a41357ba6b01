"""A missing image is got by one command that runs, or one line says what a person must do first."""

from pathlib import Path

import yaml

from sparkops.core.image_sources import copy_newest, image_source
from sparkops.core.mods import derived
from sparkops.files import recipes

COMMIT = "b" * 40


def recipe(folder: Path, **keys):
    path = folder / "mine.yml"
    path.write_text(yaml.safe_dump({"model": "m/n", **keys}))
    return recipes.recipe(str(path))


def test_a_published_image_is_pulled_and_a_known_one_built(tmp_path):
    said = {
        "vllm-node:latest": "sparkops image build vllm-node:latest",
        "ghcr.io/spark-arena/dgx-vllm-eugr-nightly:latest": (
            "sparkops image pull ghcr.io/spark-arena/dgx-vllm-eugr-nightly:latest"
        ),
        "eugr/spark-vllm": "sparkops image pull eugr/spark-vllm",
    }
    assert {image: image_source(image, recipe(tmp_path, container=image)).says for image in said} == said


def test_an_image_that_its_recipe_builds_is_built_by_the_path_of_that_recipe(tmp_path):
    mine = recipe(tmp_path, container="vllm-node-motif", build={"context": "."})
    assert image_source("vllm-node-motif", mine).says == f"sparkops image build {tmp_path}/mine.yml"
    assert image_source("vllm-node-motif", recipe(tmp_path, container="vllm-node-motif")).way is None
    assert image_source("another:1", mine).way is None


def test_mods_with_pinned_sources_are_built_in_and_others_need_their_repository(tmp_path):
    pinned = {"name": "fix-a", "source": f"https://example.org/mods.git@{COMMIT}:fix-a"}
    mine = recipe(tmp_path, container="vllm-node", mods=[pinned])
    image = derived(mine.container, mine.mods)
    assert image_source(image, mine).says == f"sparkops image build {tmp_path}/mine.yml --mods pinned"
    told = image_source(image, recipe(tmp_path, container="vllm-node", mods=["mods/fix-a"]))
    assert told.way is None
    assert "build the mods fix-a into the image: clone their repository" in told.says


def test_the_newest_build_is_copied_and_of_equal_ones_the_first():
    assert copy_newest("a", {"n1": "2026-01-01", "n2": "2026-01-02"}) == "sparkops image distribute a --from n2"
    assert copy_newest("a", {"n1": "2026-01-02", "n2": "2026-01-02"}) == "sparkops image distribute a --from n1"
