"""The parser that vLLM builds its options with."""

import argparse


class FlexibleArgumentParser(argparse.ArgumentParser):
    """Argparse's; what the real one adds is about reading a command line, not about what it takes."""
