"""The command `sparkops`: parses the words, runs the verb, and turns every result and error into an exit code."""

import os
import shlex
import sys
from collections.abc import Sequence
from itertools import groupby
from typing import Any, TextIO

import click
from click.shell_completion import shell_complete

from sparkops import __version__, signals
from sparkops.cli import registry
from sparkops.cli.completion import VARIABLE
from sparkops.cli.shape import CommandLine, Invocation, VerbGroup
from sparkops.core.printable import printable
from sparkops.errors import Interrupted, SparkopsError, UsageError
from sparkops.report import streams
from sparkops.report.answer import Answer
from sparkops.report.ending import Ending
from sparkops.report.text import How, Ink


def _version(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if not wanted or context.resilient_parsing:
        return
    from sparkops.files.package import commit  # noqa: PLC0415  only this needs it

    known = commit()
    click.echo(f"sparkops, version {__version__}" + (f" ({known})" if known else ""))
    context.exit()


class Sparkops(VerbGroup):
    """The commands of the registry; each is imported when someone types it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(registry.COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return registry.command(cmd_name) if cmd_name in registry.COMMANDS else None

    def similar(self, ctx: click.Context, word: str) -> list[str]:
        """`list` is a command of several groups; else the most similar first word."""
        groups = [name for name in registry.COMMANDS if f"{name} {word}" in registry.VERBS]
        below = [f"{name} {word}" for name in groups if isinstance(self.get_command(ctx, name), click.Group)]
        return below or super().similar(ctx, word)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for section, verbs in groupby(registry.COMMANDS.items(), key=lambda item: item[1].section):
            with formatter.section(section):
                formatter.write_dl([(name, verb.summary) for name, verb in verbs])


@click.group(
    cls=Sparkops,
    context_settings={"max_content_width": 120, "show_default": True},
    epilog="\b\nFirst steps:\n  sparkops lab up --nodes 2\n  sparkops -i lab deploy --topology cluster\n"
    "  sparkops -i lab status",
)
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version and exit."
)
def sparkops() -> None:
    """Run large language models on NVIDIA GB10 machines: checked, planned, deployed and verified over SSH."""


def main(words: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code, whatever happens."""
    if asked := os.environ.get(VARIABLE):
        return shell_complete(sparkops, {}, "sparkops", VARIABLE, asked)
    words = list(sys.argv[1:] if words is None else words)
    line = CommandLine()
    try:
        return _main(words, line)
    except KeyboardInterrupt:
        return _report(line, words).fail(Interrupted())
    except Exception as error:  # a bug before there was a report, or in it
        return _report(line, words).bug(error)


def _main(words: list[str], line: CommandLine) -> int:
    try:
        ask = parsed(words, line)
    except SparkopsError as error:
        return _report(line, words).fail(error)
    except click.Abort:
        return _report(line, words).fail(Interrupted())
    if not isinstance(ask, Invocation):
        return ask or 0
    line.verb = ask.verb
    report = _report(line, words, logged=ask.logged)
    places = (ask.options, getattr(ask.options, "where", None))
    secrets = ("become_password", "api_key")
    report.hide(*(getattr(place, name, None) for place in places for name in secrets))
    return _run(ask, report)


def parsed(words: list[str], line: CommandLine) -> Invocation | int | None:
    """Parse the words; returns None or an exit code for `--help` and `--version`, which click answers."""
    try:
        with sparkops.make_context("sparkops", list(words), obj=line) as context:
            result: Invocation | int | None = sparkops.invoke(context)
            return result
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        if "--json" in _ours(words):
            raise UsageError("a command is missing", hint="`sparkops --help`") from error
        click.echo(error.format_message(), err=True)
        return UsageError.exit_code
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else f"sparkops {line.verb}".removesuffix(" sparkops")
        looks = path == "sparkops deploy" and getattr(error, "option_name", "") in ("--check", "--dry-run")
        hint = "`sparkops plan` shows what `deploy` would do" if looks else f"`{path} --help`"
        raise UsageError(" ".join(error.format_message().split()), hint=hint) from error
    except click.ClickException as error:
        raise UsageError(error.format_message()) from error


def _run(ask: Invocation, report: Ending) -> int:
    try:
        answer = _answer(ask, report)
        report.leave(answer)
        with signals.noted(streams.end_printing):
            return report.finish(answer)
    except Exception as error:  # the one place where a bug ends
        return report.bug(error)
    finally:
        report.close()


def _answer(ask: Invocation, report: Ending) -> Answer:
    try:
        answer = _worked(ask, report)
        signals.done()
    except KeyboardInterrupt:
        signals.done()
        return Answer({}, error=Interrupted(hint=report.done))
    return answer


def _worked(ask: Invocation, report: Ending) -> Answer:
    try:
        return registry.run(ask.verb)(ask.options, report)
    except SparkopsError as error:
        return Answer({}, error=error)


def _report(line: CommandLine, words: list[str], logged: bool = False) -> Ending:
    run = os.urandom(4).hex()
    named = line.flags.get("inventory")
    command = f"sparkops -i {shlex.quote(printable(named))}" if named else "sparkops"
    command += " --ask-become-pass" if line.flags.get("ask_become_pass") else ""
    given = line.flags.get("limit", "")
    limit = "" if given.startswith("@") else given  # `@last-failed` means something to `play` only
    shown = tuple(map(printable, words))
    cut = len(shown) - len(line.given)
    typed = (shown[: cut - 1], shown[cut:])
    settings: dict[str, Any] = {
        "run": run,
        "as_json": bool(line.flags.get("json")) or "--json" in _ours(words),
        "how": How(bool(line.flags.get("verbose")), command, registry.NEED_NODES, line.verb, typed, limit),
        "show": registry.show,
        "ink": (Ink(_colour(sys.stdout)), Ink(_colour(sys.stderr))),
    }
    if not logged:
        return Ending(line.verb, **settings)
    from sparkops.report.report import Report  # noqa: PLC0415  what needs no nodes starts without it
    from sparkops.report.runlog import RunLog  # noqa: PLC0415

    settings["words"] = words
    settings["log"] = RunLog(os.environ, line.verb.replace(" ", "-"), run)
    if _colour(sys.stderr) and not settings["as_json"]:
        from sparkops.report.terminal import LiveScreen  # noqa: PLC0415  rich

        settings["screen"] = LiveScreen(sys.stderr)
    return Report(line.verb, **settings)


def _ours(words: list[str]) -> list[str]:
    return words[: words.index("--")] if "--" in words else words


def _colour(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
