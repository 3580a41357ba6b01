"""Every `sparkops ...` command in the docs is one that the command line reads."""

import re
import shlex
from collections.abc import Iterator
from itertools import groupby

import click
import pytest

from sparkops.cli.main import sparkops
from sparkops.cli.shape import CommandLine
from support.paths import ROOT

PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md"))
)
FENCE = re.compile(r"^ *```(.*)\n((?:.*\n)*?) *```$", re.MULTILINE)
ENDS = "<>|;&"
SHELL = ("", "sh", "console")
INLINE = re.compile(r"`(sparkops [^`\n]+)`")


def commands(page: str) -> list[list[str]]:
    """The words of each command in a page's blocks; a console's are behind `$`, the rest is output."""
    found = []
    for language, block in FENCE.findall(read(page)):
        lines = [line.strip() for line in block.splitlines()]
        if language == "console" or any(line.startswith("$ ") for line in lines):
            lines = [line[2:] for line in lines if line.startswith("$ ")]
        found += [words for line in lines if language in SHELL and "sparkops" in line for words in ours(line)]
    return found


def mentions(page: str) -> list[list[str]]:
    """The words of each command between backticks in a page's text; `sparkops COMMAND` means any."""
    found = (words for line in INLINE.findall(FENCE.sub("", read(page))) for words in ours(line))
    return [words for words in found if words and not words[0].isupper()]


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def ours(line: str) -> Iterator[list[str]]:
    """The words of each command of ours on a shell's line, up to a pipe or a redirection."""
    for inner in re.findall(r"\$\((sparkops [^()]*)\)", line):
        yield from ours(inner)
    line = re.sub(r"\$\([^()]*\)", "x", line)
    line = re.sub(r"^[*/\d ]+(?=sparkops)", "", line)  # the periods of cron
    words = shlex.shlex(line, posix=True, punctuation_chars=ENDS)
    words.whitespace_split = True
    for ends, command in groupby(words, lambda word: word[0] in ENDS):
        first, *rest = command
        if not ends and first == "sparkops":
            yield rest


def parsed(words: list[str]) -> None:
    """Read a command as the tool does, without running it."""
    context: click.Context = sparkops.make_context("sparkops", words, obj=CommandLine())
    group: click.Command = sparkops
    while isinstance(group, click.Group) and (rest := [*context._protected_args, *context.args]):
        name, found, rest = group.resolve_command(context, rest)
        assert found is not None
        assert name is not None
        context, group = found.make_context(name, rest, parent=context, obj=context.obj), found


@pytest.mark.parametrize("page", PAGES)
def test_the_command_line_reads_every_example(page: str) -> None:
    assert [said for command in commands(page) if (said := problem(command))] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_command_that_a_sentence_names_exists(page: str) -> None:
    said = [problem(command, whole=False) for command in mentions(page)]
    assert [one for one in said if one] == []


def problem(command: list[str], whole: bool = True) -> str:
    """What the command line has against a command; one that is not whole may lack an argument."""
    try:
        parsed(command)
    except click.exceptions.Exit:
        return ""  # --help and --version answer at once
    except click.exceptions.NoArgsIsHelpError:
        return f"{' '.join(command)}: names no command" if whole else ""
    except click.MissingParameter as error:
        return f"{' '.join(command)}: {error}" if whole else ""
    except (click.ClickException, ValueError) as error:
        return f"{' '.join(command)}: {error}"
    return ""


def test_there_are_examples() -> None:
    assert sum(len(commands(page)) for page in PAGES) > 200
