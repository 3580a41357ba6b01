"""The parser that vLLM builds its options with; what the real one adds concerns how a command line is read."""

from argparse import ArgumentParser as FlexibleArgumentParser

__all__ = ["FlexibleArgumentParser"]
