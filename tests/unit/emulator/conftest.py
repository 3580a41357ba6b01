"""The emulated nodes need Linux and asyncssh, as the embedded lab does; elsewhere nothing here is collected."""

import importlib.util
import sys

if sys.platform.startswith("linux") and importlib.util.find_spec("asyncssh"):
    from support.emulated import nodes, octet, standing  # noqa: F401 - fixtures
else:
    collect_ignore_glob = ["test_*.py"]
