"""What a program inside an emulated image finds when it imports vLLM: a version and options."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[4]))  # where this sparklab is

VERSIONS = {"vllm-mxfp4": "0.1.dev12777+mxfp4", "vllm": "0.32.0"}
__version__ = VERSIONS.get(os.environ.get("SPARKLAB_KIND", "vllm"), "0.32.0")
