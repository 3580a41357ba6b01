"""The command of a recipe once its placeholders are filled: what it starts, and where its lines are in the file."""

from collections.abc import Mapping

from sparkops.core import schema
from sparkops.core.flags import FlagTable
from sparkops.core.formats.commandline import Lines, Serving, serving
from sparkops.core.formats.shell import CommandError, commands
from sparkops.core.recipe import Setting
from sparkops.core.schema import Located


def template(located: Located, key: str) -> str:
    """A command as written; the lines of a folded one are kept, joined as a shell joins them."""
    said = schema.text(located, key)
    kept = " \\\n".join(line for _, line in located.rows)
    return f"{kept}\n" if located.rows and _words(kept) == _words(said) else said


def _words(text: str) -> list[str]:
    """The words that a shell sees; none if it cannot read them."""
    try:
        return [word.text for simple in commands(text) for word in simple.words]
    except CommandError:
        return []


def lines(located: Located, rendered: str) -> Lines:
    """The line in the file of each line of a rendered command, or one for all."""
    many = rendered.count("\n")
    kept = isinstance(located.value, str) and many == template(located, "").count("\n")
    if kept and located.style == "|":
        return Lines(located.file, tuple(range(located.line + 1, located.line + 2 + many)))
    if kept and located.rows and many == len(located.rows):
        return Lines(located.file, tuple(number for number, _ in located.rows))
    return Lines(located.file, (located.line,))


def command(
    located: Located, rendered: str, flags: FlagTable, env: Mapping[str, Setting], key: str = "command"
) -> Serving:
    """The engine that a rendered command starts, each flag with its line where the command has several."""
    return served(rendered, lines(located, rendered), flags, env, key)


def served(rendered: str, places: Lines, flags: FlagTable, env: Mapping[str, Setting], key: str) -> Serving:
    """The engine that a command starts whose lines are at these places of the file."""
    try:
        return serving(rendered, flags, places, {name: str(setting.value) for name, setting in env.items()})
    except CommandError as error:
        schema.fail(Located(None, places.file, places.number(error.line)), key, str(error))
