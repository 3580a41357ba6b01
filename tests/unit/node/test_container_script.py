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


def test_what_still_runs_may_be_about_to_end_and_is_started_after_that(node: Any) -> None:
    node.tool("docker", DOCKER.replace("rm)", "inspect) echo true ;;\nrm)"))
    assert node.run("container", "start", "sparkops-mine-head-1", "mine", str(node.home)).returncode == 0
    assert calls(node) == ["ps", "inspect", "wait", "start"]


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
        f"{state}/manifest",
        f"{state}/logs",
        f"{state}/logs/c.log",
    ]


NAMED = r"""echo "$*" >>"$HOME/docker.log"
known() { [ -e "$HOME/$1" ] && cat "$HOME/$1"; }
case "$1" in
ps) name=${5#name=^/?} && known "${name%$}" || : ;;
rename) mv "$HOME/$2" "$HOME/$3" ;;
rm) for one in "$HOME"/c "$HOME"/c.aside; do [ "$(cat "$one" 2>/dev/null)" != "$3" ] || rm "$one"; done ;;
esac"""
"""An engine whose containers are files: the name holds the ID."""


def engine(node: Any, **containers: str) -> None:
    node.tool("docker", NAMED)
    for name, identity in containers.items():
        (node.home / name.replace("_", ".")).write_text(identity)


def there(node: Any) -> dict[str, str]:
    return {name: (node.home / name).read_text() for name in ("c", "c.aside") if (node.home / name).exists()}


def test_what_is_put_aside_is_stopped_gives_its_name_free_and_comes_back(node: Any) -> None:
    engine(node, c="1111")
    for _ in range(2):
        assert node.run("container", "aside", "c", "mine", str(node.home)).returncode == 0
        assert there(node) == {"c.aside": "1111"}
    assert "stop -t 30 1111" in (node.home / "docker.log").read_text()
    for _ in range(2):
        assert node.run("container", "back", "c", "mine", str(node.home)).returncode == 0
        assert there(node) == {"c": "1111"}


def test_what_was_left_aside_by_a_killed_run_makes_way(node: Any) -> None:
    engine(node, c="2222", c_aside="1111")
    assert node.run("container", "aside", "c", "mine", str(node.home)).returncode == 0
    assert there(node) == {"c.aside": "2222"}


def test_nothing_comes_back_over_its_successor(node: Any) -> None:
    engine(node, c="2222", c_aside="1111")
    ended = node.run("container", "back", "c", "mine", str(node.home))
    assert (ended.returncode, "successor" in ended.stderr) == (1, True)
    assert there(node) == {"c": "2222", "c.aside": "1111"}
