"""Only our name together with our label is acted on."""

from __future__ import annotations

from typing import Any

DOCKER = r"""echo "$*" >>"$HOME/docker.log"
case "$1" in
ps) case "$*" in *"label=sparkops.deployment=mine"*) [ -e "$HOME/gone" ] || echo 1234 ;; esac ;;
logs) echo the log ;;
rm) touch "$HOME/gone" ;;
esac"""


def calls(node: Any) -> list[str]:
    return [line.split()[0] for line in (node.home / "docker.log").read_text().splitlines()]


def test_removing_keeps_the_log_first(node: Any) -> None:
    node.tool("docker", DOCKER)
    state = str(node.home / "state")
    assert node.run("container", "remove", "sparkops-mine-head-1", "mine", state).returncode == 0
    assert calls(node) == ["ps", "logs", "stop", "rm"]
    assert (node.home / "state/logs/sparkops-mine-head-1.log").read_text() == "the log\n"


def test_a_strangers_container_of_our_name_is_not_touched(node: Any) -> None:
    node.tool("docker", DOCKER)
    for verb in ("remove", "stop"):
        assert node.run("container", verb, "sparkops-mine-head-1", "another", str(node.home)).returncode == 0
    assert calls(node) == ["ps", "ps"]


def test_starting_what_is_not_there_fails(node: Any) -> None:
    node.tool("docker", DOCKER)
    ended = node.run("container", "start", "sparkops-mine-head-1", "another", str(node.home))
    assert (ended.returncode, "no container" in ended.stderr) == (1, True)


def test_a_log_that_cannot_be_kept_does_not_prevent_the_removal(node: Any) -> None:
    node.tool("docker", DOCKER)
    (node.home / "state").write_text("a file where a directory should be")
    assert node.run("container", "remove", "c", "mine", str(node.home / "state")).returncode == 0
    assert "rm" in calls(node)


def test_an_engine_that_does_not_answer_is_a_failure(node: Any) -> None:
    node.tool("docker", "echo 'permission denied' >&2; exit 1")
    assert node.run("container", "remove", "c", "mine", str(node.home)).returncode != 0


def test_through_sudo_what_is_kept_stays_the_persons_own(node: Any) -> None:
    node.tool("docker", DOCKER)
    node.tool("chown", 'printf "%s\\n" "$@" >>"$HOME/chown.log"')
    node.extra |= {"SUDO_UID": "1000", "SUDO_GID": "1000"}
    state = f"{node.home}/.local/state/sparkops"
    assert node.run("container", "remove", "c", "mine", state).returncode == 0
    assert (node.home / "chown.log").read_text().splitlines() == [
        "1000:1000",
        *(f"{node.home}/{path}" for path in (".local", ".local/state", ".local/state/sparkops")),
        f"{state}/logs",
        f"{state}/logs/c.log",
    ]
