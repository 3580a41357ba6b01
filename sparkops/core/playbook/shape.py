"""What a playbook's file may hold, key by key: what its reader accepts, and what an editor completes."""

from typing import Annotated, Any, Literal, Required, TypedDict

Command = str | tuple[str, ...]
Words = str | tuple[str, ...]


class CopyShape(TypedDict, total=False):
    src: Annotated[str, "The file to copy, relative to the playbook."]
    content: Annotated[str, "The text of the file, instead of src."]
    dest: Required[Annotated[str, "Path on the node; may begin with ~/ ."]]
    mode: Annotated[str, "Octal file mode, such as '0644'."]


class StepShape(TypedDict, total=False):
    name: Annotated[str, "Name of the step in the output."]
    command: Annotated[Command, "Command that runs on the node, without a shell."]
    copy: Annotated[CopyShape, "Writes a file on the node, completely or not at all."]
    phase: Annotated[str, "A built-in phase of deploy."]
    message: Annotated[str, "Shown when the step is done; may contain {{ results }}."]
    reads: Annotated[bool, "The command changes nothing; --check runs it too."]
    unless: Annotated[Command, "Command that runs first; if it ends with 0, the step is skipped."]
    until: Annotated[Command, "Command that runs after the step, repeatedly, until it ends with 0."]
    undo: Annotated[Command, "Command that undoes the step, for on_failure: undo."]
    become: Annotated[bool, "Runs through sudo."]
    ignore_errors: Annotated[bool, "Counts a failure and continues on this host."]
    run_once: Annotated[bool, "Runs on the first host only."]
    delay: Annotated[int, "Seconds between two runs of until."]
    timeout: Annotated[int, "Seconds, enforced on the node."]
    when: Annotated[str | bool | tuple[str | bool, ...], "Condition for the step; in a list, all must hold."]
    register: Annotated[str, "Name for the result, for later steps."]
    retries: Annotated[int, "How often until runs at most."]
    environment: Annotated[dict[str, str], "Environment variables of the command."]
    tags: Annotated[Words, "For --tags and --skip-tags."]


class StepsPlayShape(TypedDict, total=False):
    name: Annotated[str, "Name of the play in the output."]
    hosts: Annotated[Words, "Names, groups, globs, !not; default: the whole inventory."]
    serial: Annotated[int, "Number of hosts at a time."]
    vars: Annotated[dict[str, Any], "Variables for texts and conditions."]
    on_failure: Annotated[
        Literal["drop", "stop", "undo", "go-on"], "If a step fails: drop the host, stop, undo the play, or go on."
    ]
    steps: Required[Annotated[tuple[StepShape, ...], "Run in order; all hosts finish one step before the next begins."]]


VerbPlay = TypedDict(
    "VerbPlay",
    {
        "name": Annotated[str, "Name of the play in the output."],
        "run": Required[Annotated[str, "A verb of sparkops."]],
        "with": Annotated[dict[str, Any], "Options by name; args: for arguments, flags: for words behind --."],
        "tags": Annotated[Words, "For --tags and --skip-tags."],
    },
    total=False,
)


def keys(shape: Any) -> tuple[str, ...]:
    """The keys of one of these shapes."""
    return tuple(shape.__annotations__)
