"""The verb that makes the Tab key complete sparkops in a shell."""

from typing import Any

import click

from sparkops.cli.shape import VerbCommand, example
from sparkops.core.target import NameOptions


@example("""
    sparkops completion bash > ~/.local/share/bash-completion/completions/sparkops
    sparkops completion zsh > ~/.zfunc/_sparkops
    sparkops completion fish > ~/.config/fish/completions/sparkops.fish
""")
@click.command(cls=VerbCommand, logged=False)
@click.argument("name", type=click.Choice(["bash", "zsh", "fish"]))
def completion(**given: Any) -> NameOptions:
    """Print a script for Tab completion.

    With it, bash, zsh or fish completes commands, options, and the names of recipes, nodes, playbooks, rules, checks,
    benchmark suites, faults of the lab, and of the deployments that your last commands saw. Tab contacts no node.
    """
    return NameOptions(**given)
