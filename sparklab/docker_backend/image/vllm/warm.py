"""Ask vLLM once what kind of model the tiny one is; it keeps the answer on disk."""

import sys

from vllm.engine.arg_utils import EngineArgs

EngineArgs(model=sys.argv[1], load_format="dummy", enforce_eager=True).create_model_config()
