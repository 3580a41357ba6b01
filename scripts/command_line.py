"""Every command as a page of the docs and as a man page, made from the commands; `scripts/pages.py` writes both."""

from collections.abc import Iterator
from itertools import groupby

import click

from sparkops.cli import registry
from sparkops.cli.main import sparkops
from sparkops.cli.shape import global_options

GLOBAL = frozenset(option.name for option in global_options()) | {"help"}

ROFF_HEAD = r""".\" Written by scripts/pages.py.
.TH SPARKOPS 1 "" "sparkops" "User Commands"
.SH NAME
sparkops \- run large language models on NVIDIA GB10 machines
.SH SYNOPSIS
.B sparkops
[\fIoptions\fR] \fIcommand\fR [\fIoptions\fR] [\fIarguments\fR]
.SH DESCRIPTION
sparkops reads an inventory of nodes, checks the nodes over SSH, shows what it would do, starts a model on the nodes
and verifies that the model serves. It installs nothing on the nodes."""

EXIT_CODES = {
    0: "Done, and verified on the nodes.",
    1: "A bug in sparkops.",
    2: "Wrong usage, or a mistake in a file.",
    3: "Refused by a rule or a check; nothing was changed.",
    4: "A node could not be reached, it refused the login, or its host key is not trusted.",
    5: "Something failed on a node.",
    6: "Another run of sparkops holds the lock of a node.",
    130: "You pressed Ctrl-C.",
}


def page() -> Iterator[str]:
    """Return the lines of the page: a section for each group of `sparkops --help`, a heading for each command."""
    yield from ("## Options of every command", "", *_table(click.Command(None, params=global_options())))
    for section, verbs in groupby(registry.COMMANDS.items(), key=lambda item: item[1].section):
        yield from ("", f"## {section}")
        for first, _verb in verbs:
            for context, command in _commands([first]):
                yield from ("", f"### sparkops {_path(context)}", "", *_body(context, command))


def manual() -> Iterator[str]:
    """Return the lines of the man page, in roff."""
    yield ROFF_HEAD
    yield ".SH OPTIONS"
    yield from _roff_options(click.Command(None, params=global_options()))
    yield ".SH COMMANDS"
    for first in registry.COMMANDS:
        for context, command in _commands([first]):
            yield f".SS {_roff(_usage(context, command))}"
            yield _roff(_help(command))
            yield from _roff_options(command)
    yield ".SH EXIT STATUS"
    for code, meaning in EXIT_CODES.items():
        yield from (".TP", f"\\fB{code}\\fR", meaning)


def _commands(words: list[str]) -> Iterator[tuple[click.Context, click.Command]]:
    """Yield the command that these words name, then every command below it."""
    context = click.Context(sparkops, info_name="sparkops", show_default=True)
    command: click.Command | None = sparkops
    for word in words:
        assert isinstance(command, click.Group)
        command = command.get_command(context, word)
        assert command is not None
        context = click.Context(command, info_name=word, parent=context)
    assert command is not None
    yield context, command
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            yield from _commands([*words, name])


def _path(context: click.Context) -> str:
    return context.command_path.removeprefix("sparkops ")


def _usage(context: click.Context, command: click.Command) -> str:
    pieces = (piece for piece in command.collect_usage_pieces(context) if piece != "[OPTIONS]")
    return " ".join((context.command_path, *pieces))


def _help(command: click.Command) -> str:
    return "\n".join(line.strip() for line in (command.help or "").replace("\b\n", "").strip().splitlines())


def _body(context: click.Context, command: click.Command) -> Iterator[str]:
    yield from ("```text", _usage(context, command), "```", "", _help(command), "")
    yield from _table(command)
    if command.epilog:
        yield from ("", "```", *(line.strip() for line in command.epilog.splitlines()[2:]), "```")


def _options(command: click.Command) -> Iterator[tuple[str, str]]:
    """Yield each option that is not every command's, as `--help` writes it."""
    context = click.Context(command, show_default=True)
    own = command.name is not None
    for option in command.params:
        if isinstance(option, click.Option) and not (own and option.name in GLOBAL):
            record = option.get_help_record(context)
            if record:
                yield record


def _table(command: click.Command) -> Iterator[str]:
    options = list(_options(command))
    if options:
        yield from ("| option | meaning |", "|---|---|")
    for names, meaning in options:
        yield f"| `{names.replace('|', chr(92) + '|')}` | {meaning.replace('|', chr(92) + '|').replace('<', '&lt;')} |"


def _roff_options(command: click.Command) -> Iterator[str]:
    for names, meaning in _options(command):
        yield from (".TP", f"\\fB{_roff(names)}\\fR", _roff(meaning))


def _roff(text: str) -> str:
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in escaped.splitlines() if line)
