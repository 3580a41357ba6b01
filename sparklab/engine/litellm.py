"""The emulated LiteLLM proxy: spreads requests over the engines, retries elsewhere, lets failing ones cool down."""

import os

from sparklab.engine import log, uvicorn
from sparklab.engine.proxy import VERSION, Router, handler
from sparklab.engine.proxy_config import Config, ConfigError
from sparklab.tools.say import fail, out


def main(name: str, words: list[str]) -> int:
    if "--version" in words:
        out(f"\nLiteLLM: Current Version = {VERSION}\n")
        return 0
    options = dict(zip(words, [*words[1:], ""], strict=True))
    path = options.get("--config") or options.get("-c") or ""
    inside = os.path.join(os.environ.get("SPARKOPS_ROOT", "/"), path.lstrip("/"))
    try:
        config = Config(inside)
    except ConfigError as error:
        told = f"LiteLLM: config validation failed: {error}" if "--validate_config" in words else str(error)
        return fail(told)
    if "--validate_config" in words:
        out(f"LiteLLM: config OK ({len(config.deployments)} models)")
        return 0
    return _serve(config, options.get("--host", "0.0.0.0"), int(options.get("--port") or 4000))


def _serve(config: Config, host: str, port: int) -> int:
    uvicorn.begin()
    log.write("LiteLLM: Proxy initialized with Config, Set models:")
    for name in dict.fromkeys(deployment.name for deployment in config.deployments):
        log.write(f"    {name}")
    return uvicorn.serve(host, port, handler(Router(config)))
