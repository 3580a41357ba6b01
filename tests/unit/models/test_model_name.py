"""What people call models, and what that becomes."""

import pytest

from sparkops.core.model_name import ModelName, model_name
from sparkops.errors import UsageError


@pytest.mark.parametrize(
    ("text", "model", "revision", "job"),
    [
        ("openai/gpt-oss-120b", "openai/gpt-oss-120b", "", "fetch-openai--gpt-oss-120b"),
        ("gpt2", "gpt2", "", "fetch-gpt2"),
        ("a/b@main", "a/b", "main", "fetch-a--b-main"),
        ("a/b@refs/pr/7", "a/b", "refs/pr/7", "fetch-a--b-refs--pr--7"),
        ("a/b@" + "c" * 40, "a/b", "c" * 40, "fetch-a--b-" + "c" * 12),
        ("/srv/my models/tune/", "/srv/my models/tune", "", "fetch-srv--my-models--tune"),
    ],
)
def test_a_name_is_a_model_perhaps_at_a_revision_or_a_directory(text: str, model: str, revision: str, job: str) -> None:
    name = model_name(text)
    assert name == ModelName(model, revision)
    assert name.job("fetch") == job


@pytest.mark.parametrize(
    "text", ["", "../x", "a/b/c", "a b", "a/b@", "a/../b", "-x/y", "a/b@x..y", "a/b@ ", "https://x/y"]
)
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError, match="is not a valid model name") as caught:
        model_name(text)
    assert "openai/gpt-oss-120b" in (caught.value.hint or "")


def test_the_address_of_a_page_is_refused_with_the_name_in_it() -> None:
    with pytest.raises(UsageError) as caught:
        model_name("https://huggingface.co/Qwen/Qwen3-32B/tree/main")
    assert caught.value.hint == "write the name only: Qwen/Qwen3-32B"
