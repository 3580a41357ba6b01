"""`ray`, but for one thing: a node at 127.0.0.1 stays there and is not moved to the address that others can reach."""

import runpy

from ray._private import services

services.resolve_ip_for_localhost = lambda host: host
runpy.run_module("ray.scripts.scripts", run_name="__main__", alter_sys=True)
