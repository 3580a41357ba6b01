"""The verb that tells editors what our files may hold."""

from __future__ import annotations

import click

from sparkops.cli.options import Known
from sparkops.cli.shape import Ask, Command, example

KINDS = ("playbook", "recipe", "inventory")


@example("sparkops schema playbook > playbook.schema.json")
@click.command(cls=Command)
@click.argument("kind", type=click.Choice(KINDS))
def schema(kind: str) -> Ask:
    """Print the JSON Schema of a kind of file, for an editor.

    With it an editor that speaks YAML completes keys and marks mistakes: write
    `# yaml-language-server: $schema=playbook.schema.json` as the file's first line.
    """
    return Ask("schema", Known(kind), logged=False)
