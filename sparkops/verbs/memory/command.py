"""The verb that shows how memory is used."""

import click

from sparkops.cli.shape import VerbCommand, example, line
from sparkops.cli.shared_options import seconds
from sparkops.cli.where import target
from sparkops.verbs.memory.options import MemoryOptions


@example("""
    sparkops memory
    sparkops memory --watch --every 2s
""")
@click.command(cls=VerbCommand)
@click.option("--watch", is_flag=True, help="Repeat until interrupted.")
@seconds("--every", "5s", "With --watch: the time between two updates.")
@click.pass_context
def memory(context: click.Context, /, watch: bool, every: float) -> MemoryOptions:
    """Show what uses the memory of each node.

    Growth and time left come from the log of `sparkops cache schedule`, after some hours. Rest is memory of no
    process and no kernel cache: mostly the GPU's.
    """
    if watch and line(context).flags.get("json"):
        raise click.UsageError("--watch cannot be used with --json, which prints one document", context)
    return MemoryOptions(target(), every if watch else None)
