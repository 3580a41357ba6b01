"""Only our name together with our label is acted on."""

from support.shells import NodeShell

DOCKER = r"""echo "$*" >>"$HOME/docker.log"
case "$1" in
ps) case "$*" in *"label=sparkops.deployment=mine"*) [ -e "$HOME/gone" ] || echo 1234 ;; esac ;;
logs) echo the log ;;
rm) touch "$HOME/gone" ;;
esac"""


def calls(node: NodeShell) -> list[str]:
    return [line.split()[0] for line in (node.home / "docker.log").read_text().splitlines()]


def act(node: NodeShell, verb: str, deployment: str = "mine", state: str = "") -> tuple[int, str]:
    ended = node.run("container", verb, "c", deployment, state or str(node.home))
    return ended.returncode, ended.stderr


def test_removing_keeps_the_log_first_and_happens_where_it_cannot_be_kept_too(node: NodeShell) -> None:
    node.tool("docker", DOCKER)
    assert act(node, "remove", state=f"{node.home}/state") == (0, "")
    assert calls(node) == ["ps", "logs", "inspect", "stop", "rm"]
    assert (node.home / "state/logs/c.log").read_text() == "the log\n"
    (node.home / "gone").unlink()
    (node.home / "file").write_text("where a directory should be")
    assert act(node, "remove", state=f"{node.home}/file")[0] == 0
    assert calls(node)[-1] == "rm"


def test_what_is_stopped_or_removed_may_finish_its_requests(node: NodeShell) -> None:
    node.tool("docker", DOCKER)
    for verb in ("stop", "remove"):
        assert node.run("container", verb, "c", "mine", str(node.home), "90").returncode == 0
    log = (node.home / "docker.log").read_text().splitlines()
    assert [line for line in log if line.startswith("stop")] == ["stop -t 90 1234"] * 2


def test_what_has_served_nobody_is_dropped_at_once_and_keeps_its_log(node: NodeShell) -> None:
    node.tool("docker", DOCKER)
    assert act(node, "drop", state=f"{node.home}/state") == (0, "")
    assert "stop -t 1 1234" in (node.home / "docker.log").read_text().splitlines()
    assert (node.home / "state/logs/c.log").read_text() == "the log\n"


def test_the_log_of_a_container_that_had_ended_is_as_old_as_its_end(node: NodeShell) -> None:
    node.tool("docker", DOCKER.replace("rm)", "inspect) echo false 2026-01-01T00:00:07.123456789Z ;;\nrm)"))
    assert act(node, "remove", state=f"{node.home}/state") == (0, "")
    assert int((node.home / "state/logs/c.log").stat().st_mtime) == 1_767_225_607


def test_a_strangers_container_of_our_name_is_neither_touched_nor_started(node: NodeShell) -> None:
    node.tool("docker", DOCKER)
    assert [act(node, verb, "another")[0] for verb in ("remove", "stop", "start")] == [0, 0, 1]
    assert "no container" in act(node, "start", "another")[1]
    assert set(calls(node)) == {"ps"}


def test_what_still_runs_may_be_about_to_end_and_is_started_after_that(node: NodeShell) -> None:
    node.tool("docker", DOCKER.replace("rm)", "inspect) echo true ;;\nrm)"))
    assert act(node, "start") == (0, "")
    assert calls(node) == ["ps", "inspect", "wait", "start"]


def test_an_engine_that_does_not_answer_is_a_failure(node: NodeShell) -> None:
    node.tool("docker", "echo 'permission denied' >&2; exit 1")
    assert act(node, "remove")[0] != 0


def test_through_sudo_what_is_kept_stays_the_persons_own(node: NodeShell) -> None:
    node.tool("docker", DOCKER)
    node.tool("chown", 'printf "%s\\n" "$@" >>"$HOME/chown.log"')
    node.extra |= {"SUDO_UID": "1000", "SUDO_GID": "1000"}
    folders = [f"{node.home}/{path}" for path in (".local", ".local/state", ".local/state/sparkops")]
    assert act(node, "remove", state=folders[-1])[0] == 0
    ours = [f"{folders[-1]}/{name}" for name in ("manifest", "logs", "logs/c.log")]
    assert (node.home / "chown.log").read_text().splitlines() == ["1000:1000", *folders, *ours]


NAMED = r"""echo "$*" >>"$HOME/docker.log"
known() { [ -e "$HOME/$1" ] && cat "$HOME/$1"; }
case "$1" in
ps) name=${5#name=^/?} && known "${name%$}" || : ;;
rename) mv "$HOME/$2" "$HOME/$3" ;;
rm) for one in "$HOME"/c "$HOME"/c.aside; do [ "$(cat "$one" 2>/dev/null)" != "$3" ] || rm "$one"; done ;;
esac"""
"""An engine whose containers are files: the name holds the ID."""


def engine(node: NodeShell, **containers: str) -> None:
    node.tool("docker", NAMED)
    for name, identity in containers.items():
        (node.home / name.replace("_", ".")).write_text(identity)


def there(node: NodeShell) -> dict[str, str]:
    return {name: (node.home / name).read_text() for name in ("c", "c.aside") if (node.home / name).exists()}


def test_what_is_put_aside_is_stopped_gives_its_name_free_and_comes_back(node: NodeShell) -> None:
    engine(node, c="1111")
    for verb, left in (("aside", "c.aside"), ("back", "c")):
        for _ in range(2):
            assert (act(node, verb)[0], there(node)) == (0, {left: "1111"})
    assert "stop -t 30 1111" in (node.home / "docker.log").read_text()


def test_what_a_killed_run_left_aside_makes_way_and_does_not_come_back_over_its_successor(
    node: NodeShell,
) -> None:
    engine(node, c="2222", c_aside="1111")
    code, told = act(node, "back")
    assert (code, "that replaced it still exists" in told, there(node)) == (1, True, {"c": "2222", "c.aside": "1111"})
    assert (act(node, "aside")[0], there(node)) == (0, {"c.aside": "2222"})
