"""sudo: free of charge by default; with the `sudo-password` fault it wants the lab's password, as a stock Spark does."""

from __future__ import annotations

import os
import subprocess

from sparkops.lab.layout import PASSWORD, Node, here
from sparkops.lab.tools import knob
from sparkops.lab.tools.say import fail, out

WITH_VALUE = ("-U", "-u", "-g", "-p", "-C", "-h", "-r", "-t")
LONGEST_PASSWORD = 256


def main(name: str, words: list[str]) -> int:
    node = here()
    options, command = _split(words)
    if node.fault("sudo-password") and os.environ.get("SPARKLAB_SUDO") != "1":
        if "-S" in options:
            if not _password():
                return fail("Sorry, try again.\nsudo: no password was provided\nsudo: 1 incorrect password attempt")
        elif "-n" in options:
            return fail("sudo: a password is required")
        else:
            return fail(
                "sudo: a terminal is required to read the password; either use the -S option or configure an askpass helper"
            )
    if "-l" in options:
        rights = "(ALL : ALL) ALL" if node.fault("sudo-password") else "(ALL : ALL) NOPASSWD: ALL"
        out(" ".join([f"/usr/bin/{command[0]}", *command[1:]]) if command else f"    {rights}")
        return 0
    if not command:
        return 0 if "-v" in options or "-k" in options else fail("usage: sudo -h | -K | -k | -V")
    return _run(node, command)


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """Options, then the command; short options may stand together, and some take a value."""
    options: list[str] = []
    rest = list(words)
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        if word == "--":
            break
        if word in WITH_VALUE:
            rest.pop(0)
        elif word.startswith("--"):
            options.append({"--non-interactive": "-n", "--stdin": "-S"}.get(word, word))
        else:
            options += [f"-{letter}" for letter in word[1:]]
    while rest and "=" in rest[0] and rest[0].partition("=")[0].isidentifier():
        key, _, value = rest.pop(0).partition("=")
        os.environ[key] = value
    return options, rest


def _password() -> bool:
    """One line, byte by byte: what follows belongs to the command."""
    line = b""
    while len(line) < LONGEST_PASSWORD and (byte := os.read(0, 1)) not in (b"", b"\n"):
        line += byte
    return line == PASSWORD.encode()


def _run(node: Node, command: list[str]) -> int:
    """As root: another home, and Docker lets it in."""
    os.makedirs(node.root("root"), exist_ok=True)
    os.environ.update(
        SPARKLAB_SUDO="1", SUDO_USER=os.environ.get("USER", ""), USER="root", LOGNAME="root", HOME=node.root("root")
    )
    try:
        if any("drop_caches" in word for word in command):
            with knob.opened(node):
                code = subprocess.call(command)
            return code if code >= 0 else 128 - code
        os.execvp(command[0], command)
    except FileNotFoundError:
        return fail(f"sudo: {command[0]}: command not found")
