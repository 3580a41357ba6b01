"""Images are known by their names, and an unknown one is not taken for another."""

from __future__ import annotations

import pytest

from sparkops.core import images, models


@pytest.mark.parametrize(
    ("reference", "kind"),
    [
        ("vllm-node-mxfp4", "mxfp4"),
        ("vllm-node-mxfp4:latest", "mxfp4"),
        ("sparkarena/spark-vllm-docker:mxfp4", "mxfp4"),
        ("registry:5000/me/vllm-node-mxfp4:2026-03", "mxfp4"),
        ("vllm-node", "vllm-node"),
        ("vllm-node-tf5", "vllm-node"),
        ("vllm-node-b12x:latest", "vllm-node"),
        ("eugr/spark-vllm-b12x:latest", "vllm-node"),
        ("ghcr.io/spark-arena/dgx-vllm-eugr-nightly-tf5:latest", "vllm-node"),
        ("eugr/spark-vllm:latest", "vllm-node"),
        ("ghcr.io/spark-arena/dgx-vllm-eugr-nightly:latest", "vllm-node"),
        ("vllm/vllm-openai:v0.28.0", "vllm-openai"),
        ("nvcr.io/nvidia/vllm:26.04-py3", "ngc"),
        ("nvcr.io/nvidia/vllm@sha256:abc", "ngc"),
        ("nvcr.io/nvidia/pytorch:26.01-py3", "unknown"),
        ("registry:5000/thing", "unknown"),
        ("my-vllm", "unknown"),
        ("", "unknown"),
    ],
)
def test_an_image_is_known_by_its_name(reference: str, kind: str) -> None:
    assert images.known(reference).kind == kind


def test_of_an_unknown_image_nothing_is_assumed() -> None:
    assert (images.known("x").ray, images.known("x").mxfp4_flags, images.known("x").stock) == (None, None, False)


def test_the_flags_that_were_read_from_an_image_say_more_than_its_name() -> None:
    renamed = images.with_flags(images.known("me/my-build:3"), {"mxfp4-layers", "port"})
    assert (renamed.kind, renamed.mxfp4_flags, renamed.ray) == ("mxfp4", True, None)
    rebuilt = images.with_flags(images.known("vllm-node-mxfp4"), {"port"})
    assert (rebuilt.kind, rebuilt.mxfp4_flags, rebuilt.stock) == ("unknown", False, True)
    assert images.with_flags(images.known("vllm-node"), {"port"}) == images.known("vllm-node")


def test_heads_decide_over_how_many_nodes_a_model_can_be_split() -> None:
    oss = models.MODELS["openai/gpt-oss-120b"]
    assert models.working_counts(oss) == (2, 4, 8, 16)
    assert not models.splits(oss, 3)
    qwen = models.known("qwen/qwen3-next-80b-a3b-instruct-fp8")
    assert qwen is not None
    assert models.working_counts(qwen) == (2, 4, 8, 16)
