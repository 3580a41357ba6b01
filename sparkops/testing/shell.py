"""Programs that playbooks and `run` call on a simulated node, and `sh -c` without pipes and redirections.

Paths begin in the user's home. `PROGRAMS` belong to a world's `commands`.
"""

import re
import shlex
from collections.abc import Mapping, Sequence

from sparkops.core.plan import Result, Word
from sparkops.testing.facts import meminfo
from sparkops.testing.node import EPOCH, Handler, SimulatedNode, said

_WORD = r"""(?:\$\([^()]*\)|'[^']*'|"[^"]*"|[^;&|<>'"])"""
_PARTS = re.compile(rf"{_WORD}+|&&|\|\||.", re.DOTALL)
_GIVEN = re.compile(r"""(\w+)=("[^"]*"|'[^']*'|\$\([^()]*\)|[^\s'"]*)""")
_VALUES = re.compile(r"'[^']*'|\$\(([^()]*)\)|\$\{?(\w+)\}?")
_TIMED_OUT = 124


def run(node: SimulatedNode, words: Sequence[str], stdin: str = "") -> Result:
    """Run one simple command."""
    program = node.commands.get(words[0])
    return program(node, tuple(words), stdin) if program else said(code=127, errors=f"sh: 1: {words[0]}: not found\n")


def sh(node: SimulatedNode, words: tuple[Word, ...], stdin: str) -> Result:
    """`sh -c TEXT [NAME WORDS…]`: commands joined by `;`, `&&` and `||`, variables, `$(...)`, `exit`."""
    names = {str(at): str(word) for at, word in enumerate(words[3:])} | {"HOME": node.home}
    out, errors, code, joint = "", "", 0, ";"
    parts = [found[0].strip() for found in _PARTS.finditer(str(words[2]))]
    if beyond := {"|", "&", "<", ">", "'", '"'} & {*parts}:
        return said(code=2, errors=f"sh: 1: a simulated node does not know {' '.join(sorted(beyond))}\n")
    for part in parts:
        if part in (";", "&&", "||"):
            joint = part
            continue
        if not part or (joint == "&&" and code) or (joint == "||" and not code):
            continue
        if given := _GIVEN.fullmatch(part):
            value = _filled(node, given[2], names)
            names[given[1]], code = shlex.split(value)[0] if given[2][:1] in ("'", '"') else value, 0
            continue
        simple = shlex.split(_filled(node, part, names))
        if simple[0] == "exit":
            return said(out, int(simple[1]), errors)
        result = run(node, simple, stdin)
        out, errors, code = out + result.stdout, errors + result.stderr, result.code
    return said(out, code, errors)


def _filled(node: SimulatedNode, text: str, names: Mapping[str, str]) -> str:
    def value(found: re.Match[str]) -> str:
        if found[1] is not None:
            return run(node, shlex.split(found[1])).stdout.rstrip("\n")
        return names.get(found[2], "") if found[2] else found[0]

    return _VALUES.sub(value, text)


def _path(node: SimulatedNode, word: Word) -> str:
    text = str(word)
    return text if text.startswith("/") else f"{node.home}/{text.removeprefix('~/')}"


def _touch(node: SimulatedNode, words: tuple[Word, ...], _stdin: str) -> Result:
    for word in words[1:]:
        node.files.setdefault(_path(node, word), "")
    return said()


def _loginctl(node: SimulatedNode, words: tuple[Word, ...], _stdin: str) -> Result:
    """`loginctl enable-linger|disable-linger USER`."""
    node.lingers = words[1] == "enable-linger"
    return said()


def _rm(node: SimulatedNode, words: tuple[Word, ...], _stdin: str) -> Result:
    for word in words[1:]:
        if node.files.pop(_path(node, word), None) is None:
            return said(code=1, errors=f"rm: cannot remove '{word}': No such file or directory\n")
    return said()


def _test(node: SimulatedNode, words: tuple[Word, ...], _stdin: str) -> Result:
    """`test -e PATH`, `test A = B`, `test A != B`."""
    if words[1] == "-e":
        return said(code=0 if _path(node, words[2]) in node.files else 1)
    return said(code=0 if (words[1] == words[3]) == (words[2] == "=") else 1)


def _cat(node: SimulatedNode, words: tuple[Word, ...], _stdin: str) -> Result:
    if words[1] == "/proc/meminfo":
        return said(f"{meminfo(node)}\n")
    text = node.files.get(_path(node, words[1]))
    return said(code=1, errors=f"cat: {words[1]}: No such file or directory\n") if text is None else said(text)


def _env(node: SimulatedNode, words: tuple[Word, ...], stdin: str) -> Result:
    """`env NAME=VALUE… WORDS`; nothing here reads the environment."""
    rest = [str(word) for word in words[1:]]
    while "=" in rest[0]:
        del rest[0]
    return run(node, rest, stdin)


def _systemd_run(node: SimulatedNode, words: tuple[Word, ...], _stdin: str) -> Result:
    """`systemd-run --on-active=SECONDS systemctl reboot`."""
    node.leaves = node.now + float(str(words[1]).partition("=")[2])
    return said(errors=f"Running timer as unit: run-{EPOCH + node.now:.0f}.timer\n")


def in_time(result: Result, seconds: float) -> Result:
    """The result after `node/run.sh` applied the deadline."""
    return result if result.seconds <= seconds else Result("timeout", _TIMED_OUT, result.stdout, "", seconds)


def copy(node: SimulatedNode, words: tuple[Word, ...], stdin: str) -> Result:
    """The script `copy same|put PATH MODE`."""
    path, mode = _path(node, words[1]), str(words[2])
    if words[0] == "same":
        return said(code=0 if (node.files.get(path), node.modes.get(path)) == (stdin, mode) else 1)
    node.files[path], node.modes[path] = stdin, mode
    return said()


def until(node: SimulatedNode, words: tuple[Word, ...], stdin: str) -> Result:
    """The script `until WORDS…`."""
    result = run(node, [str(word) for word in words], stdin)
    told = "".join((result.stdout + result.stderr).splitlines(keepends=True)[-5:])
    return said(f"ready\n{told}" if result.ok else f"wait exit code {result.code}\n{told}")


PROGRAMS: Mapping[str, Handler] = {
    "cat": _cat,
    "echo": lambda _, words, __: said(f"{' '.join(map(str, words[1:]))}\n"),
    "env": _env,
    "false": lambda *_: said(code=1),
    "hostname": lambda node, *_: said(f"{node.name}\n"),
    "loginctl": _loginctl,
    "rm": _rm,
    "sh": sh,
    "sleep": lambda _, words, __: Result("exited", 0, seconds=float(str(words[1]))),
    "sysctl": lambda node, words, _: said(f"{node.boot}\n" if words[-1] == "kernel.random.boot_id" else ""),
    "systemctl": lambda *_: said(),
    "systemd-run": _systemd_run,
    "test": _test,
    "touch": _touch,
    "true": lambda *_: said(),
}
