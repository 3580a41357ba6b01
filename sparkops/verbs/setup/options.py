"""Options of `init`."""

from dataclasses import dataclass

from sparkops.core.target import Target


@dataclass(frozen=True)
class InitOptions:
    """`output` None means the user's own inventory. `resolve` takes names, and looks each up once.

    `ask_pass` logs in once with a password, to install the public key of `key_file`.
    """

    addresses: tuple[str, ...]
    output: str | None = None
    user: str | None = None
    port: int = 22
    key_file: str | None = None
    yes: bool = False
    force: bool = False
    resolve: bool = False
    ask_pass: bool = False


@dataclass(frozen=True)
class InitFleetOptions:
    """Options of `init --fleet`. `output` None means `fleet.yml` in the current directory."""

    where: Target
    output: str | None = None
    force: bool = False
