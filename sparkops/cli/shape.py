"""The click classes of all commands: global options before and after the verb, words after `--`, similar names."""

import difflib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import click

from sparkops.cli.completion import NODE
from sparkops.core import schedule
from sparkops.errors import UsageError


@dataclass(frozen=True)
class Invocation:
    """A verb with its options; `logged` runs leave a run log."""

    verb: str
    options: Any
    logged: bool = True


@dataclass
class CommandLine:
    """What is known of a command line while it is parsed, even if it is wrong; click's `obj`."""

    verb: str = "sparkops"
    flags: dict[str, Any] = field(default_factory=dict)
    """The global options, wherever on the line they were given."""
    given: tuple[str, ...] = ()
    """The words after the verb."""
    extra: tuple[str, ...] = ()


def line(context: click.Context) -> CommandLine:
    """Return the command line of this run."""
    return context.ensure_object(CommandLine)


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
    if parameter.name and (value or (parameter.name == "limit" and value is not None)):
        line(context).flags[parameter.name] = value
    return value


def _path(context: click.Context) -> str:
    """The words of the command after `sparkops`."""
    return context.command_path.removeprefix("sparkops").strip()


def _begin(context: click.Context) -> None:
    line(context).verb = _path(context) or "sparkops"


def _invocation(options: Any, context: click.Context, logged: bool = True) -> Invocation:
    return options if isinstance(options, Invocation) else Invocation(line(context).verb, options, logged)


def global_options() -> list[click.Parameter]:
    """Return new options that every command takes, before or after the verb."""

    def option(*names: str, **settings: Any) -> click.Option:
        return click.Option(names, expose_value=False, callback=_remember, **settings)

    return [
        option("-i", "--inventory", metavar="FILE|lab", help="The inventory file, or `lab` for the emulated nodes."),
        option(
            "--limit",
            type=NODE,
            metavar="NODES",
            help="Use only these nodes: names, groups or globs (spark*), separated by commas. `!NAME` excludes a node.",
        ),
        option(
            "-K",
            "--ask-become-pass",
            is_flag=True,
            help="Use $SPARKOPS_BECOME_PASSWORD as the sudo password on the nodes; if it is not set, ask.",
        ),
        option("--json", is_flag=True, help="Print one JSON document on stdout, everything else on stderr."),
        option("-v", "--verbose", is_flag=True, help="Show more details, such as each step when it starts."),
    ]


class Helped(click.Command):
    """A command with `-h`, whatever context asks first: click keeps the option that the first one asked for."""

    def get_help_option_names(self, ctx: click.Context) -> list[str]:
        return ["-h", "--help"]


class VerbCommand(Helped):
    """A verb. Its function returns the verb's options. `logged` runs leave a run log.

    Words after `--` are kept apart where `flags_behind_dashes` is set.
    """

    flags_behind_dashes = False

    def __init__(self, *arguments: Any, logged: bool = True, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.params.extend(global_options())
        self._logged = logged

    def invoke(self, ctx: click.Context) -> Invocation:
        return _invocation(super().invoke(ctx), ctx, self._logged)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        _begin(ctx)
        line(ctx).given = tuple(args)
        if self.flags_behind_dashes and "--" in args:
            cut = args.index("--")
            line(ctx).extra = tuple(args[cut + 1 :])
            args = args[:cut]
        return super().parse_args(ctx, args)


class EngineCommand(VerbCommand):
    """A verb that passes the words after `--` to `vllm serve`."""

    flags_behind_dashes = True
    behind_dashes = "[-- VLLM FLAGS]"

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), self.behind_dashes]


class NodeCommand(EngineCommand):
    """A verb that sends the words after `--` to the nodes."""

    behind_dashes = "-- COMMAND"


class VerbGroup(Helped, click.Group):
    """Verbs below a first word; an unknown verb is refused with the most similar one."""

    command_class = VerbCommand

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.params.extend(global_options())

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        _begin(ctx)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Return the invocation of a subcommand, or of the group: `jobs` and `key` are verbs, too."""
        result = super().invoke(ctx)
        return result if ctx.invoked_subcommand else _invocation(result, ctx)

    def similar(self, ctx: click.Context, word: str) -> list[str]:
        """The whole commands that may be meant by an unknown word: one of this name elsewhere, or one like it here."""
        root = ctx.find_root()
        if isinstance(root.command, click.Group) and root.command.get_command(root, word):
            return [word]
        near = difflib.get_close_matches(word, self.list_commands(ctx), n=1, cutoff=0.6)
        return [" ".join(filter(None, (_path(ctx), name))) for name in near]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not (ctx.resilient_parsing or args[0].startswith("-") or self.get_command(ctx, args[0])):
            near = [f"`sparkops {command}`" for command in self.similar(ctx, args[0])]
            known = f"did you mean {', '.join(near)}?" if near else "see --help"
            raise click.UsageError(f"no such command: {' '.join(filter(None, (_path(ctx), args[0])))}; {known}", ctx)
        return super().resolve_command(ctx, args)


VerbGroup.group_class = VerbGroup


def duration(_context: click.Context, _parameter: click.Parameter, value: str) -> float:
    """Return seconds for a number, or for a number with s, m or h."""
    try:
        return schedule.duration(value)
    except UsageError as error:
        raise click.BadParameter(error.message) from None


Shaped = TypeVar("Shaped", bound=click.Command)


def example(text: str) -> Callable[[Shaped], Shaped]:
    """Put examples below a command's help, unchanged."""

    def put(command: Shaped) -> Shaped:
        command.epilog = "\b\nExample:\n" + "\n".join(f"  {line.strip()}" for line in text.strip().splitlines())
        return command

    return put
