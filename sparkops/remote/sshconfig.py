"""`~/.ssh/config`, read by Fabric. Imported only where such a file exists: invoke needs `fcntl`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fabric import Config


class SshConfig:
    """User, Port, IdentityFile and ProxyJump of a host, as OpenSSH would take them."""

    def __init__(self, path: Path) -> None:
        config = Config(lazy=True, user_ssh_path=str(path), system_ssh_path="")
        config.load_ssh_config()
        self._rules = config.base_ssh_config

    def lookup(self, host: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._rules.lookup(host)
        return found
