"""One authenticated connection to one node: strict host keys, named errors, a few retries of what may pass."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import paramiko
from tenacity import Retrying, retry_if_exception, stop_after_attempt, stop_after_delay, wait_fixed

from sparkops.core.inventory import SSH_PORT, Node
from sparkops.remote import ssh_keys
from sparkops.remote.connect_errors import HEALS, Unreached, unreached
from sparkops.remote.handshake import handshake
from sparkops.remote.login import Proof, offer
from sparkops.remote.trust import KnownHosts, SeenHostKey, fetch_host_key

KEEPALIVE = 15
_TRIES = 3


@dataclass(frozen=True)
class Options:
    """Where keys and pinned host keys are, and what the user typed. Defaults read nothing from the environment.

    `secrets` is read when a command is sent, so it may be filled during a run.
    """

    login: str
    home: Path
    known_hosts: tuple[Path, ...]
    ssh_config: Path | None = None
    password: str | None = None
    sudo_password: str | None = None
    secrets: Mapping[str, str] = field(default_factory=dict)
    connect_timeout: float = 10.0


@dataclass(frozen=True)
class SshTarget:
    """Address, port and user of one SSH connection; `jump` is its jump host."""

    name: str
    address: str
    port: int
    user: str
    key_file: Path | None
    jump: "SshTarget | None" = None


class Connector:
    """Opens connections; reads known_hosts and `~/.ssh/config` once for all nodes."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._known = KnownHosts(options.known_hosts)
        self._config = _ssh_config(options.ssh_config)

    def target(self, node: Node) -> SshTarget:
        """The inventory wins over `~/.ssh/config`."""
        found = self._config.lookup(node.address) if self._config else {}
        port = node.port if node.port != SSH_PORT else int(found.get("port", SSH_PORT))
        user = node.user or found.get("user") or self._options.login
        key_file = _key_file(node.key_file, found)
        return SshTarget(node.name, node.address, port, user, key_file, self._jump(node.name, found))

    def shown_by(self, node: Node) -> SeenHostKey:
        """The host key that the node shows, through its jump host if it has one; no login."""
        target = self.target(node)
        return fetch_host_key(target.address, target.port, self._options.connect_timeout, self._through(target))

    def open(self, target: SshTarget) -> paramiko.Transport:
        """Connected and authenticated; raises Unreached."""
        tries = Retrying(
            retry=retry_if_exception(lambda error: isinstance(error, Unreached) and error.kind in HEALS),
            stop=stop_after_attempt(_TRIES) | stop_after_delay(self._options.connect_timeout),
            wait=wait_fixed(0.5),
            reraise=True,
        )
        return tries(self._once, target)

    def _once(self, target: SshTarget) -> paramiko.Transport:
        through = self._through(target)
        algorithms = self._known.algorithms(target.address, target.port)
        timeout = self._options.connect_timeout
        try:
            transport = handshake(target.address, target.port, timeout, algorithms=algorithms, through=through)
        except Exception as error:
            raise unreached(target.name, target.address, target.port, error) from error
        try:
            self._known.judge(target.name, target.address, target.port, transport.get_remote_server_key())
            self._authenticate(transport, target)
        except BaseException:
            transport.close()
            raise
        transport.set_keepalive(KEEPALIVE)
        return transport

    def _through(self, target: SshTarget) -> paramiko.Channel | None:
        if target.jump is None:
            return None
        try:
            jump = self._once(target.jump)
        except Unreached as lost:
            place = f"{target.jump.user}@{target.jump.address}"
            hint = f"run `ssh -p {target.jump.port} {place}` to pin its host key" if "key" in lost.kind else lost.hint
            raise Unreached(target.name, lost.kind, f"the jump host {place}: {lost.reason}", hint) from lost
        try:
            return jump.open_channel(
                "direct-tcpip", (target.address, target.port), ("", 0), timeout=self._options.connect_timeout
            )
        except (paramiko.SSHException, EOFError) as error:
            jump.close()
            reason = f"jump host {target.jump.address} cannot reach {target.address} port {target.port}: {error}"
            raise Unreached(target.name, "route", reason) from error

    def _authenticate(self, transport: paramiko.Transport, target: SshTarget) -> None:
        named = target.key_file
        keys = ssh_keys.named(target.name, named) if named else ssh_keys.default(self._options.home)
        proofs: list[Proof] = [*keys]
        if self._options.password is not None:
            proofs.append(self._options.password)
        for number, proof in enumerate(proofs):
            try:
                if offer(transport, target.user, proof, first=number == 0):
                    return
            except paramiko.AuthenticationException as error:
                raise self._refused(target, proofs[: number + 1], ", then the node ended the connection") from error
            except (paramiko.SSHException, EOFError, OSError) as error:
                raise unreached(target.name, target.address, target.port, error) from error
        raise self._refused(target, proofs)

    def _refused(self, target: SshTarget, proofs: Sequence[Proof], more: str = "") -> Unreached:
        tried = ", ".join("a password" if isinstance(p, str) else f"{p.get_name()} {p.fingerprint}" for p in proofs)
        told = f"sparkops tried {tried}" if tried else "sparkops found no SSH key"
        where = f"-p {target.port} {target.user}@{target.address}"
        if self._options.password in proofs:
            reason = f"{target.user}@{target.address} refused the password: {told}{more}"
            hint = f"try it: `ssh {where}`; if it is right, check that sshd accepts passwords (PasswordAuthentication)"
            return Unreached(target.name, "auth", reason, hint)
        reason = f"{target.user}@{target.address} refused the login: {told}{more}"
        install = f"install your key: `ssh-copy-id {where}`, or on new nodes `sparkops init IP… --ask-pass`"
        if not tried and ssh_keys.locked(self._options.home):
            install = "load your key, which has a passphrase, into ssh-agent: `ssh-add`"
        elif not tried:
            install = f"first make a key: `ssh-keygen -t ed25519`; then {install}"
        return Unreached(target.name, "auth", reason, install)

    def _jump(self, node: str, found: Mapping[str, Any]) -> SshTarget | None:
        """The last jump host before the node; its own ProxyJump names the one before it."""
        if "proxycommand" in found:
            hint = "use ProxyJump, or set an address in the inventory that this machine can reach"
            raise Unreached(node, "config", "ProxyCommand in ~/.ssh/config is not supported", hint)
        name = found.get("proxyjump")
        if not name or name == "none" or self._config is None:
            return None
        user, _, host = str(name).rpartition("@")
        host, _, port = host.partition(":")
        own = self._config.lookup(host)
        address, number = own.get("hostname", host), int(port or own.get("port", SSH_PORT))
        user = user or own.get("user") or self._options.login
        return SshTarget(node, address, number, user, _key_file(None, own), self._jump(node, own))


def _key_file(own: str | None, found: Mapping[str, Any]) -> Path | None:
    files = (own, *found.get("identityfile", ()))
    return next((Path(os.path.expanduser(name)) for name in files if name), None)


def _ssh_config(path: Path | None) -> Any:
    """The rules of `~/.ssh/config` as OpenSSH reads them; None without such a file."""
    if path is None or not path.exists():
        return None
    from fabric import Config  # noqa: PLC0415  it imports invoke, which needs fcntl

    config = Config(lazy=True, user_ssh_path=str(path), system_ssh_path="")
    config.load_ssh_config()
    return config.base_ssh_config
