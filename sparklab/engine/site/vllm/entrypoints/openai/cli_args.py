"""The options of `vllm serve`: those of the emulated release."""

from sparklab.engine.flags import make_arg_parser

__all__ = ["make_arg_parser"]
