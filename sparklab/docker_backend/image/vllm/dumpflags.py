"""Write the options that this vLLM takes and whether each wants a value; the front then need not import vLLM."""

import json
import sys
from pathlib import Path

from vllm.entrypoints.launchers.cli_args import make_arg_parser
from vllm.utils.argparse_utils import FlexibleArgumentParser


def main(target):
    parser = make_arg_parser(FlexibleArgumentParser(prog="vllm serve"))
    flags = {flag: action.nargs != 0 for action in parser._actions for flag in action.option_strings}
    target.write_text(json.dumps(flags, indent=0, sort_keys=True))


main(Path(sys.argv[1]))
