"""How this person asks the model hub: a token, an endpoint, proxies; of stdin and the environment."""

import os

from sparkops.cli.where import piped
from sparkops.core.hub_access import Access
from sparkops.errors import UsageError

PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


def access(token_stdin: bool = False) -> Access:
    token = piped("token of the model hub", "SPARKOPS_HF_TOKEN") if token_stdin else os.environ.get("HF_TOKEN")
    if token and not (token.isascii() and token.isprintable() and not set(token) & set(' "\\')):
        raise UsageError("the token of the model hub must be one word of plain characters")
    found = {name: os.environ.get(name) or os.environ.get(name.upper()) for name in PROXIES}
    proxies = {name: value for name, value in found.items() if value}
    return Access(token or None, os.environ.get("HF_ENDPOINT"), proxies, os.environ.get("SPARKOPS_ENCODINGS"))
