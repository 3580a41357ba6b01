"""Containers of the emulated engine are processes; what `docker` says of them is in tests/unit/emulator."""

from support import docker_forms as forms

IMAGE = "vllm-node:latest"
WAITS = "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done"
STATE = ("inspect", "--format", "{{.State.Status}} {{.State.ExitCode}}")


def start(node, name, script=WAITS, *options):
    done = node.docker(
        "run", "-d", "--name", name, *options, "--entrypoint=", IMAGE, "sh", "-c", script, "entry", "a b"
    )
    assert done.code == 0, done.err


def test_every_docker_command_of_sparkops_comes_back_as_from_a_real_engine(node):
    assert forms.play(node.docker) == []


def test_a_container_that_is_waited_for_says_all_to_its_last_word_and_has_its_mounts(node):
    node.run("mkdir -p ~/left && echo here > ~/left/file")
    script = 'cat "$SPARKOPS_ROOT/data/file"; seq 3000; echo end'
    line = f"docker run --rm --entrypoint= -v \"$HOME/left:/data:ro\" {IMAGE} sh -c '{script}'"
    assert node.run(line).out.split() == ["here", *(str(number) for number in range(1, 3001)), "end"]


def test_logs_follow_until_the_container_ends_and_it_starts_again_with_its_files_and_its_log(node):
    start(node, "c", 'f="$SPARKOPS_ROOT/tmp/n"; sleep 0.3; echo x >> "$f"; wc -l < "$f"')
    assert node.docker("logs", "-f", "c").out == "1\n"
    assert node.docker("start", "c").out == "c\n"
    node.docker("wait", "c")
    assert node.docker("logs", "c").out == "1\n2\n"


def test_stop_lets_a_first_process_that_listens_end_by_itself_and_kills_another(node, eventually):
    start(node, "listens")
    start(node, "deaf", "sleep 300; echo never")
    eventually(lambda: "up" in node.docker("logs", "listens").out)
    assert node.docker("stop", "-t", "20", "listens").out == "listens\n"
    assert node.docker("logs", "listens").out.endswith("bye\n")
    assert node.docker("stop", "-t", "0", "deaf").code == 0
    assert node.docker(*STATE, "listens", "deaf").out == "exited 0\nexited 137\n"


def test_nothing_of_a_container_lives_on_however_it_detached_itself(node, eventually):
    start(node, "c", "setsid sh -c 'sleep 7321 & exec sleep 7322' & echo up; wait")
    eventually(lambda: node.run("pgrep -fx 'sleep 732[12]' | wc -l").out.strip() == "2")
    node.docker("rm", "-f", "c")
    assert node.run("pgrep -fx 'sleep 732[12]' | wc -l").out.strip() == "0"


def test_a_container_that_fails_is_restarted_until_it_is_stopped(node, eventually):
    start(node, "c", "echo try; exit 3", "--restart", "unless-stopped")
    eventually(lambda: int(node.docker("inspect", "--format", "{{.RestartCount}}", "c").out) >= 3)
    node.docker("stop", "c")
    count = node.docker("inspect", "--format", "{{.RestartCount}} {{.State.Status}}", "c").out
    assert count.endswith("exited\n")
    tries = node.docker("logs", "c").out.count("try")
    assert tries - int(count.split()[0]) in (0, 1), "counted when the next try is due, as Docker counts"


def test_exec_runs_inside_with_the_containers_environment(node):
    start(node, "c", WAITS, "-e", "A=b")
    done = node.docker("exec", "-e", "C=d", "c", "sh", "-c", 'echo "$A $C"; exit 5')
    assert (done.code, done.out) == (5, "b d\n")
    assert node.run("echo text | docker exec -i c cat").out == "text\n"
    assert node.run("echo text | docker exec c cat").out == ""
