"""`node/run.sh` alone: what reaches a command, and how its end is told."""

import fcntl
import signal

from support.shells import ENDS_WHAT_SAID_IT_ALL, Held, NodeShell

AWKWARD = ["a b", "it's", "$HOME", "`id`", "x;y", "", '{"a": "b c"}', "é\n", "-n", "*", "\\", "--"]


def framed(
    node: NodeShell, *words: str, limit: str = "20", count: str = "0", run: str = "-", given: bytes = b""
) -> tuple[int, bytes, bytes]:
    return Held(node.words("run", limit, count, run, *words), given, node.env).end()


def test_words_survive(node: NodeShell) -> None:
    told = "".join(f"<{word}>" for word in AWKWARD).encode()
    assert framed(node, "sh", "-c", 'printf "<%s>" "$@"', "sh", *AWKWARD) == (0, told, b"")


def test_the_exit_code_is_the_commands_and_a_signal_is_told_as_shells_do(node: NodeShell) -> None:
    for code in (0, 1, 75, 123, 124, 126, 137, 255):
        assert framed(node, "sh", "-c", f"exit {code}") == (code, b"", b"")
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV):
        assert framed(node, "sh", "-c", f"kill -{number.value} $$")[0] == 128 + number
    code, _, errors = framed(node, "no-such-command")
    assert (code, b"no-such-command" in errors) == (127, True)


def test_a_payload_reaches_the_command_whole_and_then_ends(node: NodeShell) -> None:
    payload = bytes(range(256)) * 256
    assert framed(node, "cat", count=str(len(payload)), given=payload) == (0, payload, b"")
    assert framed(node, "cat") == (0, b"", b"")
    assert framed(node, "true", count=str(len(payload)), given=payload)[0] == 0


def test_a_password_that_sudo_did_not_take_never_reaches_the_command(node: NodeShell) -> None:
    for asked in (b"secret\n\n", b"\n"):
        assert framed(node, "cat", count="+5", given=asked + b"hello") == (0, b"hello", b"")


def test_the_deadline_ends_the_command_and_says_so(node: NodeShell) -> None:
    assert framed(node, "sleep", "60", limit="0.2") == (124, b"", b"sparkops-run: timeout\n")
    node.tool("timeout", ENDS_WHAT_SAID_IT_ALL)
    script = 'echo out; echo bad >&2; : >"$HOME/said"; exec sleep 60'
    assert framed(node, "sh", "-c", script, limit="0.2") == (124, b"out\n", b"bad\nsparkops-run: timeout\n")


def test_a_changing_command_needs_the_lock_to_be_held_and_to_name_its_run(node: NodeShell) -> None:
    refused = (75, b"", b"sparkops-run: lock lost\n")
    file = node.root / "run/lock/sparkops.lock"
    assert framed(node, "true", run="run1") == refused
    file.parent.mkdir(parents=True)
    file.write_text('{"run":"run1","user":"me"}\n')
    assert framed(node, "true", run="run1") == refused, "named, but nobody holds it"
    with file.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert framed(node, "echo", "changed", run="run1") == (0, b"changed\n", b"")
        file.write_text('{"run":"run2","user":"you"}\n')
        assert framed(node, "true", run="run1") == refused, "held, but by another run"
