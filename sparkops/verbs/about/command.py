"""The verbs about sparkops itself: `help` and `version`."""

import click

from sparkops.cli.shape import VerbCommand, VerbGroup, example
from sparkops.core.target import NameOptions
from sparkops.verbs.about.options import HelpOptions


@example("""
    sparkops help
    sparkops help recipe list
""")
@click.command(cls=VerbCommand, logged=False)
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def help(context: click.Context, /, words: tuple[str, ...]) -> HelpOptions:
    """Show the help of a command."""
    place = context.find_root()
    for word in words:
        group = place.command
        if not isinstance(group, VerbGroup):
            raise click.UsageError(
                f"no such command: {' '.join(words)}; `{place.command_path}` has none below it", place
            )
        name, command, _ = group.resolve_command(place, [word])
        assert command is not None, "an unknown command is refused"
        place = click.Context(command, parent=place, info_name=name)
    return HelpOptions(place.get_help())


@example("sparkops version")
@click.command(cls=VerbCommand, logged=False)
def version() -> NameOptions:
    """Show the version of sparkops."""
    return NameOptions()
