"""Simulated nodes with the images and models of packaged recipes."""

from typing import Any

from sparkops.core.proxy_image import DEFAULT, called
from sparkops.testing.world import SimulatedWorld

IMAGES = ("vllm-node-mxfp4", "vllm-node", called(DEFAULT))
MODELS = ("openai/gpt-oss-120b", "Qwen/Qwen3-Next-80B-A3B-Instruct-FP8")


def sparks(nodes: int = 2, prefix: str = "spark", **settings: Any) -> SimulatedWorld:
    """`spark1`, `spark2`, … (or another prefix) with images and models; `settings` are SimulatedWorld's."""
    world = SimulatedWorld([f"{prefix}{number}" for number in range(1, nodes + 1)], **settings)
    for node in world.nodes.values():
        for image in IMAGES:
            node.engine.add_image(image)
        for model in MODELS:
            node.add_model(model)
    return world
