"""What a program inside an emulated image finds when it imports vLLM: a version and options."""

import sys
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[4]))  # where this sparklab is

__version__ = metadata.version("vllm")
