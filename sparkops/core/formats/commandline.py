"""The command of a recipe as settings: model, flags, variables, and caveats about what only a shell could do."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sparkops.core.flags import FlagTable
from sparkops.core.formats.server_command import (
    HARMLESS,
    WRAPPERS,
    Assigned,
    assigned,
    leading,
    opened,
    server,
    shortened,
)
from sparkops.core.formats.shell import CommandError, Simple, Word, commands, filled
from sparkops.core.recipe import ADDRESSES, FORBIDDEN, PLACED, VLLM, Caveat, Setting, put

MOST_WORDS = 2000
BEFORE = {
    "cd": "write absolute paths in the command",
    **dict.fromkeys(("source", "."), "write the whole path of vllm in the command, such as /opt/venv/bin/vllm"),
}
"""What to write instead of programs that only prepare the shell."""

OURS = {
    "ray": "sparkops starts Ray itself",
    **dict.fromkeys(("hf", "huggingface-cli"), "get the model before the deploy: `sparkops model fetch`"),
    **dict.fromkeys(("mkdir", "ls", "df", "free", "nvidia-smi"), "the engine runs without it"),
}
"""Programs that need not run before the engine, and why."""


@dataclass
class Serving:
    """`vllm serve` as a command gives it; `words` are its words, the model third, and `program` stands for `vllm`."""

    words: tuple[str, ...] = ()
    program: tuple[str, ...] = VLLM
    model: str = ""
    model_at: str = ""
    args: dict[str, Setting] = field(default_factory=dict)
    env: dict[str, Setting] = field(default_factory=dict)
    caveats: list[Caveat] = field(default_factory=list)


@dataclass(frozen=True)
class Lines:
    """Where the lines of a command are in its file; what has no line of its own is at the last one."""

    file: str
    rows: tuple[int, ...]

    def number(self, line: int) -> int:
        return self.rows[min(line, len(self.rows) - 1)]

    def where(self, line: int) -> str:
        return f"{self.file}:{self.number(line)}"


def serving(text: str, flags: FlagTable, lines: Lines, env: Mapping[str, str]) -> Serving:
    """The engine that a rendered command starts in a container with these variables."""
    found, where = Serving(), lines.where
    simples = _filled(opened(commands(text)), env, found, where)
    index, words, variables = server(simples)
    if len(words) > MOST_WORDS:
        raise CommandError(f"has more than {MOST_WORDS} words")
    for simple in simples[:index]:
        variables = [*_exported(simple, found, where), *variables]
    serve = next(at for at, word in enumerate(words) if word.text == "serve")
    found.program = tuple(word.text for word in words[:serve])
    words = [words[0], *words[serve:]]
    _read(found, words, flags, where)
    left = _expanding(words, flags) + _assign(found, variables, where)
    found.caveats += [*_unfilled(left, where), *_after(simples[index], simples[index + 1 :], where)]
    return found


def _filled(simples: list[Simple], env: Mapping[str, str], found: Serving, where: Any) -> list[Simple]:
    """The commands with the variables and defaults put in that have a value here; one caveat names the defaults."""
    values, assumed, lines = dict(env), dict[str, str](), list[int]()
    for simple in simples:
        made = [(word, *filled(word, values)) for word in simple.words]
        for word, _, taken in made:
            assumed |= taken
            lines += [word.line] if taken else []
        simple.words = [word for _, words, _ in made for word in words]
        values |= {name: value for name, word, value in assigned(simple) if not word.expands}
    if assumed:
        said = ", ".join(f"{name} ({value!r})" for name, value in assumed.items())
        instead = "if the image sets one of them, write its value into the command"
        found.caveats.append(
            Caveat(where(lines[0]), f"sparkops takes the command's defaults for {said}", instead=instead)
        )
    return simples


def _assign(found: Serving, variables: Assigned, where: Any) -> list[Word]:
    """Keep the variables with a known value; return the words of the others, less those that sparkops itself sets."""
    left = []
    for name, word, value in variables:
        if not word.expands:
            found.env[name] = Setting(value, where(word.line))
        elif name in ADDRESSES:
            found.caveats.append(Caveat(where(word.line), f"{name} is dropped: sparkops sets it for each node"))
        else:
            left.append(word)
    return left


def _expanding(words: list[Word], flags: FlagTable) -> list[Word]:
    """The words that a shell would expand, less the values of flags that the placement sets."""
    walked = flags.walk(word.text for word in words[2:])
    placed = {at for flag in walked if flag.name in PLACED for at in (flag.index + 2, flag.index + 3)}
    return [word for at, word in enumerate(words) if word.expands and at not in placed]


def _unfilled(words: Sequence[Word], where: Any) -> Iterator[Caveat]:
    """One caveat about all words that only a shell in the container could expand."""
    if words:
        said = ", ".join(dict.fromkeys(shortened(word.text) for word in sorted(words, key=lambda word: word.line)))
        first = min(word.line for word in words)
        yield Caveat(where(first), f"sparkops runs no shell to expand {said}", True, "write the values themselves")


def _exported(simple: Simple, found: Serving, where: Any) -> Assigned:
    """Variables of a command before the server; a program that runs first is a caveat."""
    words = leading(simple.words)[1]
    if not words or words[0].text in HARMLESS:
        return assigned(simple)
    ran = shortened(" ".join(word.text for word in words))
    said = f"sparkops does not run `{ran}` before the engine"
    if words[0].text in OURS:
        found.caveats.append(Caveat(where(words[0].line), said, instead=OURS[words[0].text]))
    else:
        instead = BEFORE.get(words[0].text, "build it into the image, as a mod for example")
        found.caveats.append(Caveat(where(words[0].line), said, True, instead))
    return []


def _after(started: Simple, rest: Sequence[Simple], where: Any) -> Iterator[Caveat]:
    """What follows the server: flags that a shell no longer passes to it, or other programs."""
    wrapper = started.words[0]
    if wrapper.text.rpartition("/")[2] in WRAPPERS:
        yield Caveat(where(wrapper.line), f"sparkops starts the engine without the wrapper {wrapper.text}", False)
    if started.end in (">", ">>", "<", ">&", "&>", "&>>", "|", "|&"):
        line = started.words[-1].line
        yield Caveat(where(line), "the output of the engine is not redirected: `sparkops logs` shows it", False)
        rest = [simple for simple in rest if simple.words and simple.words[0].text.startswith("--")]
    for simple in rest[:1]:
        first = simple.words[0] if simple.words else None
        if first is not None and first.text.startswith("-"):
            said = f"the engine does not get {first.text}: the line above has a comment or lacks the final backslash"
            yield Caveat(
                where(first.line), said, True, "write the flags on one line, or join their lines with a backslash"
            )
        elif first is not None:
            yield Caveat(where(first.line), f"sparkops does not run `{shortened(first.text)}` after the engine", False)


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
                raise CommandError(f"{shortened(str(flag.value))!r} belongs to no flag and is not the model", word.line)
            found.model, found.model_at = str(flag.value), setting.origin
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
    """Store one flag; flags that may be repeated keep every value. A value with `$` is judged as one for a shell."""
    known = flags.find(name)
    if known and known.repeats and name in args:
        old = args[name].value
        setting = Setting([*(old if isinstance(old, list) else [old]), setting.value], setting.origin)
    problem = flags.problem(name, setting.value)
    if problem and "$" not in str(setting.value):
        raise CommandError(f"--{name} {problem}", line)
    put(args, name, setting)


def _forbidden(found: Serving, name: str, setting: Setting, line: int) -> None:
    if name == "config":
        raise CommandError(f"--config: {FORBIDDEN[name]}", line)
    found.caveats.append(Caveat(setting.origin, f"--{name} is dropped: {FORBIDDEN[name]}", False))
