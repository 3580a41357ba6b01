"""Readers that both kinds of plays share: known keys, flags, tags, and hints for Ansible's keys."""

from collections.abc import Callable, Mapping
from typing import Any

from sparkops.core import schema
from sparkops.core.playbook import shape
from sparkops.core.schema import Located, fail

Readers = Mapping[str, Callable[[Located, str], Any]]
"""By key, the reader of its value: it takes the value and the path for messages."""

ANSIBLE = {
    "tasks": "here they are `steps:`",
    "roles": "a play has `steps:` of its own",
    "shell": '`command: [sh, -c, "…"]` is a shell\'s line',
    **dict.fromkeys(("loop", "with_items"), "write the step once for each item, or one `command: [sh, -c, …]`"),
    "block": "steps stand in one list",
    "rescue": "`ignore_errors: true`, and a `when` on what was registered",
    **dict.fromkeys(("handlers", "notify"), "give the step a `when` on what was registered"),
    "delegate_to": "a play of its own has its own `hosts:`",
    "gather_facts": "facts are always there: `facts.…`",
    "changed_when": "`reads: true` says that a command changes nothing",
    "failed_when": "let the command end with the code that is meant",
    "become_user": "`become: true` is root",
    "creates": "`unless: [test, -e, FILE]`",
    "template": "`copy:` puts {{ names }} into its content",
    "debug": "`message:` prints",
    **dict.fromkeys(("fail", "assert"), '`command: "false"` with a `when:`; its `name:` is the reason'),
    "stat": "`command: test -e FILE` with `reads`, `ignore_errors` and `register`",
    "lineinfile": "`copy:` the whole file, or `command: [sh, -c, …]` with `unless: grep -q …`",
    "vars_files": "`vars:` of the play, or `-e NAME=VALUE`",
    "set_fact": "`vars:` of the play, or `register:`",
    "wait_for": '`command: ["true"]` with `until:`, a command that is asked again',
    "pause": "`until:` with `delay:` waits for something",
    "reboot": "`sparkops playbook show reboot-all` is one to copy",
    "pre_tasks": "a play of its own before this one",
    "post_tasks": "a play of its own after this one",
    "strategy": "all hosts finish a step before the next begins; `serial:` takes some at a time",
    "any_errors_fatal": "`on_failure: stop`",
    "max_fail_percentage": "`on_failure: stop`, or `serial:`",
    "remote_user": "`user:` in the inventory",
    **dict.fromkeys(("service", "systemd"), "`command: systemctl restart NAME`, with `become: true`"),
    "apt": "`command: apt-get install -y NAME`, with `become: true` and `unless: dpkg -s NAME`",
    "file": "`command: mkdir -p DIR`, with `unless: test -d DIR`",
    "import_playbook": "copy its plays into this file",
    **dict.fromkeys(("include_tasks", "import_tasks"), "put its steps here"),
    "args": "`command:` takes the words, `environment:` the variables",
}
"""Keys of Ansible, and what to write instead."""


STEP_KEYS = tuple(key for key in shape.keys(shape.StepShape) if key not in shape.keys(shape.StepsPlayShape))
PLAY_KEYS = tuple(key for key in shape.keys(shape.StepsPlayShape) if key not in shape.keys(shape.StepShape))


_VERBS_OWN = {
    "hosts": "a play that runs a verb takes `with: {limit: …}`",
    "vars": "a play that runs a verb takes its names from `-e NAME=VALUE`",
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
            fail(item, f"{path}: {key}", "belongs to a play of steps", hint=hint)
        if short != key and short in keys:
            fail(item, f"{path}: {key}", f"is `{short}` here")
        if short in ANSIBLE:
            fail(item, f"{path}: {key}", "is not in this language", hint=ANSIBLE[short])
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
