"""Playbooks on real processes: requests during a restart, a reboot, Ctrl-C. The rest: tests/world/test_playbooks.py."""

import signal

import pytest

from support import serving


@pytest.fixture
def written(lab, tmp_path):
    """Writes a playbook into a path with a space; a name is one that comes with sparkops."""

    def write(text):
        place = tmp_path / "my books" / "own.yml"
        place.parent.mkdir(exist_ok=True)
        place.write_text(text if "\n" in text else lab.json("playbook", "show", text)["text"])
        return place

    return write


def counts(document):
    """By node: how many steps were ok, changed, skipped, failed."""
    return {
        row["node"]: tuple(row[name] for name in ("ok", "changed", "skipped", "failed")) for row in document["recap"]
    }


def everything(lab):
    """All files of the nodes by time and size, but for what the lab writes when it is asked; and their containers."""
    moves = {"ssh.jsonl", "answers", "jobs", "containers"}
    files = {
        (name, str(path.relative_to(lab.node(name)))): (path.lstat().st_mtime_ns, path.lstat().st_size)
        for name in lab.names
        for path in lab.node(name).rglob("*")
        if path.is_file() and not moves & set(path.parts)
    }
    return files | {"containers": lab.containers(), "starts": lab.starts()}


def test_a_rolling_restart_loses_no_request_and_its_check_leaves_every_byte(empty):
    lab = empty
    (endpoint,) = lab.deploy("2x-solo")["endpoints"]
    assert lab.json("preflight")["verdict"] == "pass", "what serves is not held against the nodes"
    before, began = everything(lab), lab.starts()
    lab.mark()
    checked = lab.json("restart", "--check")
    assert lab.changed() == [], "the nodes received nothing that changes"
    assert not [one for one in lab.received() if one.run == "lock"]
    assert everything(lab) == before

    with serving.Client(endpoint["url"], lab.key()) as client:
        (played,) = lab.json("play", "rolling-restart")["plays"]
    assert set(client.answers) == {"whole"}, client.answers
    assert played["document"]["restarted"] == checked["restarted"]
    after = lab.starts()
    restarted = {key for key, value in after.items() if value != began.get(key)}
    assert restarted == {key for key in began if "-server-" in key[1]}
    assert after.keys() == began.keys()


def test_a_changed_setting_reaches_one_copy_after_the_other_and_no_request_fails_at_the_proxy(empty):
    lab = empty
    (endpoint,) = lab.deploy("2x-solo")["endpoints"]
    old = lab.running()
    with serving.Client(endpoint["url"], lab.key()) as client:
        assert lab.deploy("2x-solo", "--set", "args.max-num-seqs=7")["changed"]
    # The proxy itself is away for a moment, at the end: nobody is at its port then.
    assert {answer for answer in client.answers if not answer.startswith("0 ")} == {"whole"}, client.answers
    assert lab.running().isdisjoint(old)


def test_all_nodes_reboot_and_serve_again_with_the_containers_that_they_had(empty, written):
    lab, book = empty, written("reboot-all")
    lab.deploy("cluster")
    before, began = lab.running(), lab.starts()
    played = lab.json("play", book, "-e", "recipe=openai-gpt-oss-120b", "-e", "topology=cluster")
    assert counts(played) == {"node1": (0, 1, 0, 0), "node2": (0, 1, 0, 0)}
    assert [sum(event["event"] == "boot" for event in lab.events(name)) for name in lab.names] == [1, 1]
    assert lab.running() == before
    assert all(lab.starts()[key] != value for key, value in began.items()), "each container was started anew"
    assert lab.serves()


def test_a_new_key_leaves_one_of_the_replicas_serving_and_clients_need_it(empty):
    lab = empty
    (endpoint,) = lab.deploy("2x-solo")["endpoints"]
    old = lab.key()
    new = lab.json("key", "rotate")["key"]
    asked = {key: lab.ask(endpoint["url"], key, endpoint["model"])[0] for key in (old, new)}
    assert asked == {old: 401, new: 200}
    assert {lab.ask(f"http://{lab.address(name)}:8001/v1", old, endpoint["model"])[0] for name in lab.names} == {401}


def test_ctrl_c_ends_the_command_on_the_nodes_and_nothing_follows(empty, written, until):
    lab = empty
    book = written(
        "- name: first\n  steps:\n    - {command: [sleep, '4242'], timeout: 3600}\n"
        "- name: second\n  steps:\n    - {command: [touch, after]}\n"
    )
    process = lab.start("play", book, "--json")
    assert until(lambda: sum("sleep 4242" in line for line in lab.processes(outside=True)) >= 2)
    process.send_signal(signal.SIGINT)
    ran = lab.ended(process, 130)
    assert ran.document["error"]["kind"] == "interrupted"
    assert until(lambda: not any("sleep 4242" in line for line in lab.processes(outside=True)))
    assert not [name for name in lab.names if lab.node(name, "home", "after").exists()]
