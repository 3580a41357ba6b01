"""Completion by the Tab key: click's, with our names. The shell runs sparkops with the variable below set."""

from typing import Any

import click
from click.shell_completion import CompletionItem

from sparkops.cli.registry import names
from sparkops.errors import SparkopsError

VARIABLE = "_SPARKOPS_COMPLETE"


class NameType(click.ParamType):  # type: ignore[type-arg]
    """Any text; `kind` says which names `verbs/completion/names.py` proposes; `or_file`: if none fits, files."""

    name = "text"

    def __init__(self, kind: str, metavar: str, *, or_file: bool = False) -> None:
        self.kind, self.metavar, self.or_file = kind, metavar, or_file

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str | None:
        return self.metavar if isinstance(param, click.Option) else None

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
        """Propose names for the text after the last comma."""
        before, comma, begun = incomplete.rpartition(",")
        try:
            known = [name for name in names(self.kind, ctx) if name.startswith(begun) and name.isprintable()]
        except SparkopsError:  # no inventory, or one with a mistake: nothing to propose
            known = []
        if self.or_file and not known:
            return [CompletionItem(incomplete, type="file")]
        return [CompletionItem(f"{before}{comma}{name}") for name in known]


RECIPE, TOPOLOGY, NODE = NameType("recipes", "R"), NameType("topologies", "T"), NameType("nodes", "NODE")
PLAYBOOK_FILE = NameType("playbooks", "NAME", or_file=True)
PLAYBOOK, SUITE = NameType("playbooks", "NAME"), NameType("suites", "S")
CATALOGUE = NameType("catalogues", "NAME")
DEPLOYMENT = NameType("deployments", "NAME")
LAB_NODE, FAULT = NameType("lab nodes", "NODE"), NameType("faults", "KIND")
RULE, CHECK = NameType("rules", "ID"), NameType("checks", "ID")
