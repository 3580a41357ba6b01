"""Which names a text or a condition of a play may use, and where: some are known only in the run."""

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import fields

from sparkops.core import schema
from sparkops.core.facts.node import Facts
from sparkops.core.inventory import Node
from sparkops.core.playbook import when
from sparkops.core.playbook.expression import SIGNS, Expression
from sparkops.core.playbook.names import BadExpression, Path, dotted, places
from sparkops.core.playbook.values import Words
from sparkops.core.schema import Located, fail

GIVEN = {kind.__name__.lower(): tuple(field.name for field in fields(kind)) for kind in (Node, Facts)}
"""Names that every step may use beside the play's vars and `-e`: `node` and `facts`, with their fields."""

RESULT = ("code", "stdout", "stderr", "ended")
"""Fields of a registered result."""

SHELL = ("|", "||", "&&", "&", ";", ">", ">>", "<", "2>&1", "2>")
"""Words that only a shell understands."""

ANSIBLE = {"inventory_hostname": "node.name", "ansible_host": "node.address", "ansible_facts": "facts"}
"""Names in Ansible, and their names here."""

_RESULTS_OF_ANSIBLE = {
    "rc": "code",
    "stdout_lines": "stdout",
    "stderr_lines": "stderr",
    "failed": "code",
    "changed": "ended",
}

_OF_A_RESULT = re.compile(rf"\w+\.({'|'.join((*RESULT, *_RESULTS_OF_ANSIBLE))})")
"""Looks like a field of a result; no program has such a name."""

_PADDED = re.compile(r"\{\{\s*(\S+)\s*\}\}")
"""A name in braces is one word, even with spaces inside."""


class Scope:
    """Names that a step may use. It grows while a play is read: each step may register a result for later steps."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = frozenset(names)
        self.registered: set[str] = set()

    def define(self, value: Located, path: str, name: str) -> str:
        """A name that the playbook defines; raises UsageError if it cannot be one."""
        if not name.isidentifier() or name in GIVEN:
            fail(value, path, f"{name!r} cannot be a name: use letters, digits, _; {' and '.join(GIVEN)} are taken")
        return name

    def condition(self, value: Located, path: str) -> Expression:
        """One condition, or a list of conditions that must all hold."""
        parts = value.value if isinstance(value.value, tuple) else (value,)
        if not parts:
            fail(value, path, "is empty")
        text = " and ".join(f"({self._plain(part, path)})" for part in parts)
        try:
            found = when.parse(text)
        except BadExpression as error:
            fail(value, path, f"{self._plain(parts[0], path)[:80]!r}: {error}")
        for name in found.names():
            self._allow(value, path, name.path, in_the_run=True)
        return found

    def words(self, value: Located, path: str) -> Words:
        """A list's items unchanged; a text is split as a shell would, but no shell runs it."""
        if isinstance(value.value, tuple):
            words = tuple(self.text(item, path) for item in value.value)
        else:
            try:
                words = tuple(shlex.split(_PADDED.sub(r"{{\1}}", self.text(value, path))))
            except ValueError:
                fail(value, path, "has a quote that is not closed")
        if not words or not words[0]:
            fail(value, path, "has no command")
        self._refuse_habits(value, path, words)
        return words

    def _refuse_habits(self, value: Located, path: str, words: Words) -> None:
        """Refuse a shell's line or a condition instead of a command: it would fail on every node, or wait forever."""
        if isinstance(value.value, tuple):
            return
        if sign := next((word for word in words if word in SHELL), None):
            fail(value, path, f"{sign!r} needs a shell, but sparkops runs none", hint='use a shell: `[sh, -c, "…"]`')
        compares = len(words) > 1 and words[1] in (*SIGNS, "is") and words[0] not in ("[", "test")
        if compares or _OF_A_RESULT.fullmatch(words[0]):
            told = 'write a condition in `when:`, or test it with a command: `[sh, -c, "… | grep -q …"]`'
            fail(value, path, "must be a command, not a condition", hint=told)

    def text(self, value: Located, path: str, *, in_the_run: bool = False) -> str:
        """A text; raises UsageError if one of its `{{ names }}` is unknown at that point."""
        text = schema.text(value, path)
        if "\0" in text:
            fail(value, path, "has a NUL character")
        try:
            wanted = places(text)
        except BadExpression as error:
            fail(value, path, str(error))
        for name in wanted:
            self._allow(value, path, name, in_the_run=in_the_run)
        return text

    def texts(self, value: Located, path: str) -> Mapping[str, str]:
        return {key: self.text(item, f"{path}.{key}") for key, item in schema.mapping(value, path).items()}

    def _plain(self, value: Located, path: str) -> str:
        return str(value.value).lower() if isinstance(value.value, bool) else schema.text(value, path)

    def _allow(self, value: Located, path: str, name: Path, *, in_the_run: bool) -> None:
        root = str(name[0])
        if root in self.registered:
            if not in_the_run:
                fail(value, path, f"{dotted(name)} is known only during the run: only `when` and `message` can use it")
            if len(name) != 2 or name[1] not in RESULT:  # noqa: PLR2004
                here = _RESULTS_OF_ANSIBLE.get(str(name[1])) if len(name) > 1 else None
                hint = f"in sparkops it is `{root}.{here}`" if here else None
                fail(value, path, f"{dotted(name)}: a registered result has only {', '.join(RESULT)}", hint=hint)
        elif root in GIVEN and len(name) > 1 and name[1] not in GIVEN[root]:
            near = schema.did_you_mean(str(name[1]), GIVEN[root])
            fail(value, path, f"{root} has no {name[1]}{near}")
        elif root not in self.names and root not in GIVEN:
            if here := ANSIBLE.get(root):
                fail(value, path, f"unknown name {root}", hint=f"in sparkops it is `{here}`")
            near = schema.did_you_mean(root, (*self.names, *GIVEN, *self.registered))
            hint = "set it with `vars:`, `-e NAME=VALUE` or `register:` of an earlier step"
            fail(value, path, f"unknown name {root}{near}", hint=hint)
