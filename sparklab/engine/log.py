"""Lines as vLLM 0.32 writes them."""

import os
import sys
import threading
import time

_LOCK = threading.Lock()


def write(text: str) -> None:
    with _LOCK:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


class Speaker:
    """One process of the engine, with its name and pid at the head of each line."""

    def __init__(self, name: str, offset: int = 0, prefix: str = "") -> None:
        self.head = f"{prefix}({name} pid={os.getpid() + offset})"

    def info(self, where: str, text: str) -> None:
        self._say("INFO", where, text)

    def warning(self, where: str, text: str) -> None:
        self._say("WARNING", where, text)

    def error(self, where: str, text: str) -> None:
        """Each line of a trace has the prefix."""
        for line in text.splitlines():
            self._say("ERROR", where, line)

    def _say(self, level: str, where: str, text: str) -> None:
        write(f"{self.head} {level} {time.strftime('%m-%d %H:%M:%S')} [{where}] {text}")


class Voices:
    """The three processes of an engine, as this rank's log names them."""

    def __init__(self, worker: str, headless: bool, prefix: str) -> None:
        self.api = Speaker("MainProcess" if headless else "APIServer")
        self.core = Speaker("EngineCore", 1)
        self.worker = Speaker(worker, 2, prefix)
