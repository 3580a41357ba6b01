"""What `lint` writes for programs that no transcript can hold: tests/world/transcripts/lint.txt has all other forms."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Run = Callable[..., Any]


def test_a_path_from_the_root_is_a_file_uri(sparkops: Run, tmp_path: Path) -> None:
    path = tmp_path / "ours.yml"
    path.write_text("model: openai/gpt-oss-120b\ncontainer: vllm-node-mxfp4\nargs: {max-model-length: 4096}\n")
    (run,) = json.loads(sparkops("lint", str(path), "--format", "sarif").out)["runs"]
    places = [result["locations"][0]["physicalLocation"] for result in run["results"]]
    assert {place["artifactLocation"]["uri"] for place in places} == {path.as_uri()}
