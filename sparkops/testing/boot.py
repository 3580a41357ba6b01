"""How an engine in a simulated container starts: ready after some probes, or failed with its last log lines."""

from collections.abc import Callable
from dataclasses import dataclass

BOOT_LINES = (
    "INFO Starting to load model",
    "INFO Loading weights took 61.20 seconds",
    "INFO Application startup complete.",
)


@dataclass(frozen=True)
class EngineBoot:
    """`looks` is the number of probes until it is ready (or has failed); `never` loads forever.

    `falls` is how often it dies at its start, to be started again, before it comes up. `refuses`: what it answers to
    every request for tokens, healthy as it is. `compiles`: until it is ready, compilers use the CPU. `gpu_mib` is the
    memory that nvidia-smi lists of it once it is ready.
    """

    looks: int = 2
    crashes: bool = False
    never: bool = False
    falls: int = 0
    refuses: str = ""
    compiles: bool = False
    gpu_mib: int | None = None
    log: tuple[str, ...] = BOOT_LINES


@dataclass(frozen=True)
class BootRule:
    """`boot` is what happens to containers that it `matches`, given their image and the words that they run."""

    matches: Callable[[str, tuple[str, ...]], bool]
    boot: EngineBoot

    @classmethod
    def flag(cls, flag: str, boot: EngineBoot) -> "BootRule":
        """A rule for engines started with this flag (or any word)."""
        return cls(lambda _image, words: flag in words, boot)

    @classmethod
    def image(cls, image: str, boot: EngineBoot) -> "BootRule":
        return cls(lambda used, _words: used == image, boot)
