"""sudo and visudo: sudo asks for no password by default. With the fault `sudo-password` it asks for the lab's password, as on
a stock Spark, except for commands that a line in `/etc/sudoers.d` permits.
"""

import getopt
import os
import re
import shutil

from sparklab import files
from sparklab.layout import PASSWORD, Node, here
from sparklab.tools.say import fail, out

LONG = {"non-interactive": "-n", "stdin": "-S"}
LONGEST_PASSWORD = 256
HARMLESS = frozenset({"cat", "env", "id", "ls", "sh", "tee", "test", "true"})
"""Programs of this machine that sudo may run; others could change the machine itself, as the lab may run as root."""

LINE = re.compile(r"\S+ ALL=\([^)]*\) NOPASSWD: (/.+)")


def main(name: str, words: list[str]) -> int:
    if name == "visudo":
        return visudo(words)
    node = here()
    options, command = _split(words)
    if refusal := _refusal(node, options, command):
        return fail(refusal)
    if "-l" in options:
        rights = "(ALL : ALL) ALL" if node.fault("sudo-password") else "(ALL : ALL) NOPASSWD: ALL"
        listed = [f"    {rights}", *(f"    (root) NOPASSWD: {one}" for one in _lines(node))]
        out(" ".join([f"/usr/bin/{command[0]}", *command[1:]]) if command else "\n".join(listed))
        return 0
    if not command:
        return 0 if "-v" in options or "-k" in options else fail("usage: sudo -h | -K | -k | -V")
    return _run(node, command)


def _refusal(node: Node, options: set[str], command: list[str]) -> str:
    """Return why the command may not run; empty if it may."""
    if not node.fault("sudo-password") or os.environ.get("SPARKLAB_SUDO") == "1" or _permitted(node, options, command):
        return ""
    if "-S" in options:
        wrong = "Sorry, try again.\nsudo: no password was provided\nsudo: 1 incorrect password attempt"
        return "" if _password() else wrong
    if "-n" in options:
        return "sudo: a password is required"
    return "sudo: a terminal is required to read the password; either use the -S option or configure an askpass helper"


def visudo(words: list[str]) -> int:
    """`visudo -c [-f FILE]`: check that each line names a user, hosts and commands."""
    node = here()
    named = words[-1] if any(word.startswith("-") and "f" in word for word in words) else None
    for path in [named] if named else _sudoers(node):
        for number, line in enumerate(files.read(path).splitlines(), 1):
            if line.strip() and not line.startswith("#") and not LINE.fullmatch(line):
                return fail(f"{path}:{number}:1: syntax error")
        out(f"{path}: parsed OK")
    return 0


def _sudoers(node: Node) -> list[str]:
    folder = node.root("etc", "sudoers.d")
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder))]


def _lines(node: Node) -> list[str]:
    """Return the commands that files in `/etc/sudoers.d` permit without a password."""
    paths = [path for path in _sudoers(node) if "." not in os.path.basename(path)]
    found = (LINE.fullmatch(line) for path in paths for line in files.read(path).splitlines())
    return [one[1] for one in found if one]


def _permitted(node: Node, options: set[str], command: list[str]) -> bool:
    """Return whether a line permits the command; paths below the node's root count as the paths in the line."""
    lines = _lines(node)
    if "-l" in options and not command:
        return bool(lines)
    asked = " ".join(command).replace(node.root(), "").replace("//", "/")
    return any(asked in (line, os.path.basename(line.split()[0]) + line[len(line.split()[0]) :]) for line in lines)


def _split(words: list[str]) -> tuple[set[str], list[str]]:
    """Return the options and the command; set the variables of `NAME=value` words before it."""
    given, rest = getopt.getopt(words, "ABEHKSVbiklnvC:U:g:h:p:r:t:u:", list(LONG))
    while rest and "=" in rest[0] and rest[0].partition("=")[0].isidentifier():
        key, _, value = rest.pop(0).partition("=")
        os.environ[key] = value
    return {LONG.get(word[2:], word) for word, _ in given}, rest


def _password() -> bool:
    """Read one line byte by byte, as the rest belongs to the command; return whether it is the password."""
    line = b""
    while len(line) < LONGEST_PASSWORD and (byte := os.read(0, 1)) not in (b"", b"\n"):
        line += byte
    return line == PASSWORD.encode()


def _run(node: Node, command: list[str]) -> int:
    """Run a command as root: with root's home and the right to use Docker. Files keep their owner: this is no real root."""
    os.makedirs(node.root("root"), exist_ok=True)
    who = {"SUDO_USER": os.environ.get("USER", ""), "SUDO_UID": str(os.getuid()), "SUDO_GID": str(os.getgid())}
    os.environ.update(who, SPARKLAB_SUDO="1", USER="root", LOGNAME="root", HOME=node.root("root"))
    try:
        if any("drop_caches" in word for word in command):
            import subprocess

            from sparklab.tools import knob

            with knob.opened(node):
                code = subprocess.call(command)
            return code if code >= 0 else 128 - code
        found = shutil.which(command[0]) or command[0]
        if os.path.dirname(found) != node.path("bin") and os.path.basename(found) not in HARMLESS:
            return fail(f"sudo: {command[0]}: the lab does not emulate this program, so it refuses to run it as root")
        os.execvp(command[0], command)
    except FileNotFoundError:
        return fail(f"sudo: {command[0]}: command not found")
