"""Readers that both kinds of plays share: known keys, flags, tags, and hints for Ansible's keys."""

from collections.abc import Callable, Mapping
from typing import Any

from sparkops.core import schema
from sparkops.core.playbook import shape
from sparkops.core.schema import Located, fail

Readers = Mapping[str, Callable[[Located, str], Any]]
"""By key, the reader of its value: it takes the value and the path for messages."""

ANSIBLE = {
    "tasks": "write `steps:`",
    "roles": "write the steps of the role into the play's `steps:`",
    "shell": 'write `command: [sh, -c, "…"]`',
    **dict.fromkeys(("loop", "with_items"), "write one step for each item, or a loop in `command: [sh, -c, …]`"),
    "block": "write all steps in one list",
    "rescue": "write `ignore_errors: true` and `register:`, and a later step with a `when:` on the result",
    **dict.fromkeys(("handlers", "notify"), "`register:` the result of one step, and use it in the `when:` of another"),
    "delegate_to": "write a separate play with its own `hosts:`",
    "gather_facts": "delete it: `facts.…` are always available",
    "changed_when": "write `reads: true` if the command changes nothing",
    "failed_when": "write a command with exit code 0 if it succeeded, and another exit code if it failed",
    "become_user": "write `become: true`; the command then runs as root",
    "creates": "write `unless: [test, -e, FILE]`",
    "template": "write `copy:` with `content:`, which may contain {{ names }}",
    "debug": "write `message:`",
    **dict.fromkeys(("fail", "assert"), 'write `command: "false"` and `when:`, with the reason as `name:`'),
    "stat": "write `command: test -e FILE`, `reads: true`, `ignore_errors: true` and `register: NAME`; use `NAME.code`",
    "lineinfile": "write the whole file with `copy:`, or `command: [sh, -c, …]` with `unless: grep -q …`",
    "vars_files": "use `vars:` of the play, or `-e NAME=VALUE`",
    "set_fact": "use `vars:` of the play, or `register:`",
    "wait_for": 'write `command: ["true"]` with `until:`, a command that is repeated until its exit code is 0',
    "pause": "to wait for something, write `until:` with `delay:`",
    "pre_tasks": "write a separate play before this one",
    "post_tasks": "write a separate play after this one",
    "strategy": "all hosts finish a step before the next begins; `serial:` sets the number of hosts at a time",
    "any_errors_fatal": "write `on_failure: stop`",
    "max_fail_percentage": "write `on_failure: stop`, or `serial:`",
    "remote_user": "set `user:` in the inventory",
    **dict.fromkeys(("service", "systemd"), "write `command: systemctl restart NAME`, with `become: true`"),
    "apt": "write `command: apt-get install -y NAME`, with `become: true` and `unless: dpkg -s NAME`",
    "file": "write `command: mkdir -p DIR`, with `unless: test -d DIR`",
    "import_playbook": "copy the plays of the other playbook into this file",
    **dict.fromkeys(("include_tasks", "import_tasks"), "copy the steps of the other file into this list"),
    "args": "write the words in `command:`, the variables in `environment:`",
}
"""Keys of Ansible, and what to write instead."""


STEP_KEYS = tuple(key for key in shape.keys(shape.StepShape) if key not in shape.keys(shape.StepsPlayShape))
PLAY_KEYS = tuple(key for key in shape.keys(shape.StepsPlayShape) if key not in shape.keys(shape.StepShape))


_VERBS_OWN = {
    "hosts": "in a play with `run:`, write `with: {limit: NODES}`",
    "vars": "in a play with `run:`, set variables with `-e NAME=VALUE`",
}


def known(value: Located, path: str, keys: tuple[str, ...]) -> dict[str, Located]:
    """A mapping's entries; raises UsageError for another key, with the nearest key or the replacement of Ansible's."""
    for key, item in schema.mapping(value, path).items():
        if key in keys:
            continue
        short = key.removeprefix("ansible.builtin.")
        if key in STEP_KEYS:
            fail(item, f"{path}: {key}", "belongs to a step", hint="put it on each step that needs it")
        if key in PLAY_KEYS:
            hint = _VERBS_OWN.get(key) if "run" in keys else "put it on the play, beside its `steps:`"
            fail(item, f"{path}: {key}", "belongs to a play with `steps:`", hint=hint)
        if short != key and short in keys:
            fail(item, f"{path}: {key}", f"write `{short}`")
        if short in ANSIBLE:
            fail(item, f"{path}: {key}", "is not a key of sparkops playbooks", hint=ANSIBLE[short])
    return schema.mapping(value, path, keys)


def flag(value: Located, path: str) -> bool:
    if not isinstance(value.value, bool):
        fail(value, path, f"must be true or false, not {schema.kind_of(value.value)}")
    return value.value


def settings(entries: Mapping[str, Located], path: str, readers: Readers) -> dict[str, Any]:
    """The value of each key that is given, by its reader."""
    return {key: reader(entries[key], f"{path}: {key}") for key, reader in readers.items() if key in entries}


def tags(entries: Mapping[str, Located], path: str) -> tuple[str, ...]:
    """One word, several with commas, or a list."""
    if "tags" not in entries:
        return ()
    value = entries["tags"]
    if isinstance(value.value, tuple):
        return tuple(schema.text(item, f"{path}: tags") for item in value.value)
    return tuple(word.strip() for word in schema.text(value, f"{path}: tags").split(",") if word.strip())
