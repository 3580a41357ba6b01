"""What a playbook's file may hold, key by key: what its reader accepts, and what an editor completes."""

from typing import Annotated, Any, Literal, Required, TypedDict

Command = str | tuple[str, ...]
Words = str | tuple[str, ...]


class CopyShape(TypedDict, total=False):
    src: Annotated[str, "The file to copy, relative to the playbook's directory."]
    content: Annotated[str, "The text of the file, instead of src."]
    dest: Required[Annotated[str, "Path on the node; ~/ is the login user's home directory."]]
    mode: Annotated[str, "Octal file mode (default: '0644')."]


class StepShape(TypedDict, total=False):
    name: Annotated[str, "Name of the step in the output."]
    command: Annotated[Command, "Command that runs on the node, without a shell."]
    copy: Annotated[CopyShape, "Writes a file on the node, completely or not at all."]
    phase: Annotated[str, "A part of deploy, by its name in `sparkops playbook show deploy`."]
    reboot: Annotated[Literal[True], "Reboots the node and waits until it has booted again."]
    message: Annotated[str, "Text to print when the step is done; may contain {{ names }}, also of results."]
    reads: Annotated[bool, "If true, the command changes nothing, so --check runs it too."]
    unless: Annotated[Command, "Command that runs first; if its exit code is 0, the step is skipped."]
    until: Annotated[Command, "Command that runs after the step, repeatedly, until its exit code is 0."]
    undo: Annotated[Command, "Command that undoes the step, for on_failure: undo."]
    become: Annotated[bool, "If true, the command runs with sudo."]
    ignore_errors: Annotated[bool, "If true, a failure is counted, and the next steps run on this host."]
    run_once: Annotated[bool, "If true, the step runs on the first host only."]
    delay: Annotated[int, "For until: seconds between two runs (default: 10)."]
    timeout: Annotated[int, "Time limit of the command in seconds (default: 300; for reboot: 900)."]
    when: Annotated[str | bool | tuple[str | bool, ...], "If false, the step is skipped; in a list, all must be true."]
    register: Annotated[str, "Name of the result, for later steps (NAME.code, NAME.stdout)."]
    retries: Annotated[int, "For until: the time limit is retries times delay (default: 30)."]
    environment: Annotated[dict[str, str], "Environment variables of the command."]
    tags: Annotated[Words, "Tags, for --tags and --skip-tags."]


class StepsPlayShape(TypedDict, total=False):
    name: Annotated[str, "Name of the play in the output."]
    hosts: Annotated[Words, "Nodes, groups or globs; !NAME excludes a node. Default: all nodes."]
    serial: Annotated[int, "How many hosts run at a time (default: all)."]
    vars: Annotated[dict[str, Any], "Variables for texts and conditions."]
    on_failure: Annotated[
        Literal["drop", "stop", "undo", "go-on"], "If a step fails: drop the host (default), stop, undo, or go on."
    ]
    steps: Required[Annotated[tuple[StepShape, ...], "Run in order; all hosts finish one step before the next begins."]]


VerbPlay = TypedDict(
    "VerbPlay",
    {
        "name": Annotated[str, "Name of the play in the output."],
        "run": Required[Annotated[str, "A command of sparkops, such as deploy."]],
        "with": Annotated[dict[str, Any], "Options by name; `args`: its arguments; `flags`: words for vLLM."],
        "tags": Annotated[Words, "Tags, for --tags and --skip-tags."],
    },
    total=False,
)


def keys(shape: Any) -> tuple[str, ...]:
    """The keys of one of these shapes."""
    return tuple(shape.__annotations__)
