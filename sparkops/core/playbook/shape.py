"""What a playbook's file may hold, key by key: what its reader accepts, and what an editor completes."""

from typing import Annotated, Any, Literal, Required, TypedDict

Command = str | tuple[str, ...]
Words = str | tuple[str, ...]


class CopyShape(TypedDict, total=False):
    src: Annotated[str, "A file beside the playbook."]
    content: Annotated[str, "The text itself, instead of src."]
    dest: Required[Annotated[str, "Where on the node; may begin with ~/ ."]]
    mode: Annotated[str, "Octal, such as '0644'."]


class StepShape(TypedDict, total=False):
    name: Annotated[str, "What the output calls it."]
    command: Annotated[Command, "Words for the node; no shell reads them."]
    copy: Annotated[CopyShape, "Put a file there, whole or not at all."]
    phase: Annotated[str, "A built-in phase of deploy."]
    message: Annotated[str, "Told when the step is done; results may stand in it."]
    reads: Annotated[bool, "The command changes nothing; a check runs it."]
    unless: Annotated[Command, "When this ends with 0 there is nothing to do."]
    until: Annotated[Command, "Asked again after the step until it ends with 0."]
    undo: Annotated[Command, "What takes the step back, for on_failure: undo."]
    become: Annotated[bool, "Through sudo."]
    ignore_errors: Annotated[bool, "A failure is counted, and the host goes on."]
    run_once: Annotated[bool, "On the first host only."]
    delay: Annotated[int, "Seconds between two questions of until."]
    timeout: Annotated[int, "Seconds, held on the node."]
    when: Annotated[str | bool | tuple[str | bool, ...], "A condition; of a list all must hold."]
    register: Annotated[str, "A name for the result."]
    retries: Annotated[int, "How often until is asked at most."]
    environment: Annotated[dict[str, str], "Variables of the command."]
    tags: Annotated[Words, "For --tags and --skip-tags."]


class StepsPlayShape(TypedDict, total=False):
    name: Annotated[str, "What the output calls it."]
    hosts: Annotated[Words, "Names, groups, globs, !not; without it all of the inventory."]
    serial: Annotated[int, "So many hosts at a time."]
    vars: Annotated[dict[str, Any], "Names for texts and conditions."]
    on_failure: Annotated[
        Literal["drop", "stop", "undo", "go-on"], "Drop the host, stop, undo what was sent, or try all the rest."
    ]
    steps: Required[Annotated[tuple[StepShape, ...], "In order; all hosts finish one before the next begins."]]


VerbPlay = TypedDict(
    "VerbPlay",
    {
        "name": Annotated[str, "What the output calls it."],
        "run": Required[Annotated[str, "A verb of sparkops."]],
        "with": Annotated[dict[str, Any], "Its options by their names; args: and flags: for the rest."],
        "tags": Annotated[Words, "For --tags and --skip-tags."],
    },
    total=False,
)


def keys(shape: Any) -> tuple[str, ...]:
    """The keys of one of these shapes."""
    return tuple(shape.__annotations__)
