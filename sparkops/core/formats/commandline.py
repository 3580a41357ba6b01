"""The command of a recipe as settings: model, flags, variables, and caveats about what only a shell could do."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import dropwhile
from typing import Any

from sparkops.core.flags import FlagTable
from sparkops.core.formats.shell import CommandError, Simple, Word, commands
from sparkops.core.recipe import FORBIDDEN, Caveat, Setting, put

SHELLS = ("bash", "sh", "dash")
SERVER_MODULES = ("vllm.entrypoints.openai.api_server", "vllm.entrypoints.cli.main")
MOST_WORDS = 2000
WRAPPERS = ("taskset", "numactl", "nice", "ionice", "nohup", "time", "stdbuf", "chrt", "sudo", "uv")
HARMLESS = ("set", "export", "exec", "true", ":", "ulimit", "umask")
_ASSIGNED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_INTERPRETER = re.compile(r"-[BEIOSsu]+")
_DEEPEST = 3

PROGRAMS = {
    "sglang": "sglang",
    "sglang.launch_server": "sglang",
    "llama-server": "llama.cpp",
    "llama-cli": "llama.cpp",
    "trtllm-serve": "TensorRT-LLM",
    "mpirun": "TensorRT-LLM",
    "atlas": "Atlas",
    "ollama": "Ollama",
    "tritonserver": "Triton",
    "text-generation-launcher": "TGI",
    "lmdeploy": "LMDeploy",
    "max": "MAX",
    "uvicorn": "another HTTP server",
}


@dataclass
class Serving:
    """`vllm serve` as a command gives it; `words` are its words as written, the model third."""

    words: tuple[str, ...] = ()
    model: str = ""
    args: dict[str, Setting] = field(default_factory=dict)
    env: dict[str, Setting] = field(default_factory=dict)
    caveats: list[Caveat] = field(default_factory=list)


def serving(text: str, flags: FlagTable, file: str, first: int, spread: bool = True) -> Serving:
    """The engine that a rendered command starts. Its line 0 (without `spread` any line) is line `first` of the file."""

    def where(line: int) -> str:
        return f"{file}:{first + line if spread else first}"

    simples = _opened(commands(text))
    index, words, assigned = _server(simples)
    if len(words) > MOST_WORDS:
        raise CommandError(f"has more than {MOST_WORDS} words")
    found = Serving()
    for simple in simples[:index]:
        assigned = [*_exported(simple, found, where), *assigned]
    for name, word, value in assigned:
        found.env[name] = Setting(value, where(word.line))
    _read(found, words, flags, where)
    for word in (*words, *(word for _, word, _ in assigned)):
        if word.expands:
            found.caveats.append(Caveat(where(word.line), f"sparkops runs no shell to expand {word.text}", True))
    found.caveats += _after(simples[index], simples[index + 1 :], where)
    return found


def _opened(simples: list[Simple], depth: int = 0) -> list[Simple]:
    """The commands inside `bash -c '…'`, if that is the only command."""
    if len(simples) == 1 and depth < _DEEPEST:
        words = simples[0].words
        inner = [word for word in words[1:] if not word.text.startswith("-")]
        if words and words[0].text.rpartition("/")[2] in SHELLS and len(inner) == 1 and words[-1] is inner[0]:
            return _opened(commands(inner[0].text), depth + 1)
    return simples


Assigned = list[tuple[str, Word, str]]


def _server(simples: Sequence[Simple]) -> tuple[int, list[Word], Assigned]:
    """The server: the index of its command, its words without prefixes, and the variables set there."""
    starts = []
    for index, simple in enumerate(simples):
        assigned, words = _leading(simple.words)
        if words and (rest := _served(_unwrapped(words))) is not None:
            starts.append((index, rest, assigned))
    if len(starts) > 1:
        raise CommandError("starts more than one vLLM server", starts[1][1][0].line)
    if not starts:
        raise _other(simples)
    return starts[0]


def _leading(words: list[Word]) -> tuple[Assigned, list[Word]]:
    """Variables before a command's own name, and the command without them, `exec` and `env`."""
    assigned: Assigned = []
    for index, word in enumerate(words):
        match = _ASSIGNED.fullmatch(word.text)
        if match:
            assigned.append((match[1], word, match[2]))
        elif word.text not in ("exec", "env"):
            return assigned, words[index:]
    return assigned, []


def _unwrapped(words: list[Word]) -> list[Word]:
    """A command without a wrapper such as `taskset -c 1-4`."""
    if words[0].text.rpartition("/")[2] not in WRAPPERS:
        return words
    starts = (index for index, word in enumerate(words) if word.text.rpartition("/")[2] == "vllm")
    return words[next(starts, 0) :]


def _served(words: list[Word]) -> list[Word] | None:
    """The words as `vllm serve …`, also for `python -m vllm…`; None for another command."""
    name = words[0].text.rpartition("/")[2]
    if name == "vllm" and len(words) > 1 and words[1].text == "serve":
        return words
    given = list(dropwhile(lambda word: _INTERPRETER.fullmatch(word.text), words[1:]))
    if re.fullmatch(r"python[0-9.]*", name) and len(given) > 1 and given[0].text == "-m":
        module, rest = given[1].text, given[2:]
        serve = rest[:1] if module == SERVER_MODULES[1] and rest and rest[0].text == "serve" else []
        if module == SERVER_MODULES[0] or serve:
            return [Word("vllm", words[0].line), Word("serve", words[0].line), *rest[len(serve) :]]
    return None


def _other(simples: Sequence[Simple]) -> CommandError:
    """What the command starts instead of vLLM."""
    leading = ((simple, _leading(simple.words)[1]) for simple in simples)
    ran = [words for _, words in leading if words and words[0].text not in HARMLESS]
    if not ran:
        return CommandError("starts no program")
    for words in ran:
        for word in words[:3]:
            if (known := PROGRAMS.get(word.text.rpartition("/")[2])) is not None:
                return CommandError(f"starts {word.text} ({known}); sparkops serves with vLLM only", word.line)
    first = ran[-1][0]
    return CommandError(f"starts {_short(first.text)}, not `vllm serve`; sparkops serves with vLLM only", first.line)


def _exported(simple: Simple, found: Serving, where: Any) -> Assigned:
    """Variables of an `export` before the server; another program that runs first is a caveat."""
    assigned, words = _leading(simple.words)
    name = words[0].text if words else "export"
    if name == "export":
        matches = [(word, _ASSIGNED.fullmatch(word.text)) for word in words[1:]]
        assigned += [(match[1], word, match[2]) for word, match in matches if match]
    elif name not in HARMLESS:
        ran = _short(" ".join(word.text for word in words))
        found.caveats.append(Caveat(where(words[0].line), f"sparkops does not run `{ran}` before the engine", True))
    return assigned if name in HARMLESS else []


def _after(server: Simple, rest: Sequence[Simple], where: Any) -> Iterator[Caveat]:
    """What follows the server: flags that a shell no longer passes to it, or other programs."""
    wrapper = server.words[0]
    if wrapper.text.rpartition("/")[2] in WRAPPERS:
        yield Caveat(where(wrapper.line), f"sparkops starts the engine without the wrapper {wrapper.text}", False)
    if server.end in (">", ">>", "<", ">&", "&>", "&>>", "|", "|&"):
        line = server.words[-1].line
        yield Caveat(where(line), "the output of the engine is not redirected: `sparkops logs` shows it", False)
        rest = [simple for simple in rest if simple.words and simple.words[0].text.startswith("--")]
    for simple in rest[:1]:
        first = simple.words[0] if simple.words else None
        if first is not None and first.text.startswith("-"):
            said = f"the engine does not get {first.text}: the line above has a comment or lacks the final backslash"
            yield Caveat(where(first.line), said, True)
        elif first is not None:
            yield Caveat(where(first.line), f"sparkops does not run `{_short(first.text)}` after the engine", False)


def _read(found: Serving, words: list[Word], flags: FlagTable, where: Any) -> None:
    """Read flags in order, the last one wins; the word that belongs to no flag is the model."""
    dotted: dict[str, list[tuple[str, Setting]]] = {}
    taken: set[int] = set()
    for flag in flags.walk(word.text for word in words[2:]):
        word = words[flag.index + 2]
        setting = Setting(flag.value, where(word.line))
        if flag.problem:
            raise CommandError(flag.problem, word.line)
        if flag.name in ("", "model", "model-tag"):
            if found.model and found.model != flag.value:
                raise CommandError(f"{_short(str(flag.value))!r} belongs to no flag and is not the model", word.line)
            found.model = str(flag.value)
            taken |= {flag.index + 2, *([flag.index + 3] if flag.name and "=" not in word.text else [])}
        elif flag.name in FORBIDDEN:
            _forbidden(found, flag.name, setting, word.line)
        elif "." in flag.name:
            dotted.setdefault(flag.name.partition(".")[0], []).append((flag.name, setting))
        else:
            _keep(found.args, flags, flag.name, setting, word.line)
    _lay_dotted(found, dotted)
    if not found.model or found.model.startswith("-") or found.model != found.model.strip():
        raise CommandError("`vllm serve` has no model", words[0].line)
    rest = (word.text for index, word in enumerate(words) if index > 1 and index not in taken)
    found.words = ("vllm", "serve", found.model, *rest)


def _lay_dotted(found: Serving, dotted: Mapping[str, list[tuple[str, Setting]]]) -> None:
    """Put `--flag.key value` into the flag's mapping; if `--flag` is given too, keep both and add a caveat."""
    for name, settings in dotted.items():
        if name in found.args:
            said = f"the engine ignores --{name} completely, because --{settings[0][0]} is given too"
            found.caveats.append(Caveat(settings[0][1].origin, said, False))
            found.args |= dict(settings)
        else:
            for path, setting in settings:
                put(found.args, path, setting)


def _keep(args: dict[str, Setting], flags: FlagTable, name: str, setting: Setting, line: int) -> None:
    """Store one flag; flags that may be repeated keep every value."""
    known = flags.find(name)
    if known and known.repeats and name in args:
        old = args[name].value
        setting = Setting([*(old if isinstance(old, list) else [old]), setting.value], setting.origin)
    if problem := flags.problem(name, setting.value):
        raise CommandError(f"--{name} {problem}", line)
    put(args, name, setting)


def _forbidden(found: Serving, name: str, setting: Setting, line: int) -> None:
    if name == "config":
        raise CommandError(f"--config: {FORBIDDEN[name]}", line)
    found.caveats.append(Caveat(setting.origin, f"--{name} is dropped: {FORBIDDEN[name]}", False))


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
