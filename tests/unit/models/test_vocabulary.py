"""Where on a node the files lie that the engine's environment names inside its container."""

import pytest

from sparkops.core.vocabulary import in_mounts, usual


@pytest.mark.parametrize(
    ("env", "mounts", "folder"),
    [
        ({"TIKTOKEN_RS_CACHE_DIR": "/root/.cache/tiktoken_rs"}, ("tiktoken_rs",), "~/.cache/tiktoken_rs"),
        ({"TIKTOKEN_ENCODINGS_BASE": "/words/o200k/"}, ("huggingface", "/srv/words:/words:ro"), "/srv/words/o200k"),
        ({"TIKTOKEN_ENCODINGS_BASE": "/words"}, ("own/words:/words",), "~/own/words"),
        ({"TIKTOKEN_ENCODINGS_BASE": "/baked/into/the/image"}, ("tiktoken_rs",), None),
        ({"TIKTOKEN_ENCODINGS_BASE": "https://mirror/encodings"}, ("tiktoken_rs",), None),
        ({}, ("tiktoken_rs",), None),
    ],
)
def test_only_what_is_mounted_can_be_put_in_place(
    env: dict[str, str], mounts: tuple[str, ...], folder: str | None
) -> None:
    assert in_mounts(env, mounts) == folder


def test_without_a_recipe_gpt_oss_alone_gets_what_the_recipes_mount() -> None:
    assert usual("openai/gpt-oss-20b") == "~/.cache/tiktoken_rs"
    assert usual("Qwen/Qwen3-Coder-Next-FP8") is None
