"""Other people's recipes planned on eight nodes: each for as many as its sizes need, or refused in words."""

import json
import re
from pathlib import Path

import pytest

from sparkops.core import shapes, topology
from sparkops.files import recipes
from support.paths import CORPUS
from support.world import Lab

FILES = sorted(str(path) for ending in ("yaml", "yml") for path in CORPUS.rglob(f"*.{ending}"))
UNREADY = ("--allow", "image-present", "--allow", "model-present")
"""The nodes have none of their images and models; a plan is what is asked for."""

pytestmark = pytest.mark.skipif(not FILES, reason=f"no recipes in {CORPUS}")


@pytest.mark.parametrize("kind", ["solo", "cluster"])
def test_every_recipe_is_planned_for_its_nodes_or_refused_in_words(tmp_path: Path, kind: str) -> None:
    lab = Lab(tmp_path, nodes=8)
    planned = 0
    for file in FILES:
        ran = lab.cli("plan", "--topology", kind, "--recipe", file, *UNREADY, "--json")
        document = json.loads(ran.out)
        assert ran.code in (0, 2, 3), (file, document)
        if ran.code == 0:
            planned += 1
            starts = [one["node"] for one in document["steps"] if re.match("start sparkops-", one["title"])]
            wanted = shapes.shape(recipes.recipe(file), topology.parse(kind), 8).nodes
            assert sorted(starts) == lab.names[:wanted], file
    assert planned > len(FILES) / 3
