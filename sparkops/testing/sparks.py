"""Simulated nodes with the images and models of packaged recipes."""

from typing import Any

from sparkops.core.images import Software
from sparkops.core.proxy_image import DEFAULT, called
from sparkops.testing.world import SimulatedWorld

SOFTWARE = {
    "vllm-node-mxfp4": Software("0.1.dev12777+mxfp4", "2.28.9", "0.6.1", "2.53.0", "2.11.0.dev20260105+cu130"),
    "vllm-node": Software("0.32.0", "2.30.4", "0.7.2", "2.56.0", "2.13.0+cu130"),
    called(DEFAULT): Software(),
}
IMAGES = tuple(SOFTWARE)
MODELS = ("openai/gpt-oss-120b", "Qwen/Qwen3-Next-80B-A3B-Instruct-FP8")


def sparks(nodes: int = 2, prefix: str = "spark", **settings: Any) -> SimulatedWorld:
    """`spark1`, `spark2`, … (or another prefix) with images and models; `settings` are SimulatedWorld's."""
    world = SimulatedWorld([f"{prefix}{number}" for number in range(1, nodes + 1)], **settings)
    for node in world.nodes.values():
        for image in IMAGES:
            node.engine.add_image(image, software=SOFTWARE[image])
        for model in MODELS:
            node.add_model(model)
    return world
