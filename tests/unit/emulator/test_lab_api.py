"""What `sparklab.api` decides before a process runs, and who is answered by the lab's own."""

import asyncio
import random
import socket

import pytest

from sparklab import api, embedded
from sparklab.daemon import modelhub
from sparklab.daemon.answers import Answers
from sparklab.layout import SSH_PORT


def test_two_labs_that_begin_together_are_not_on_one_network():
    random.seed(1)
    with embedded.claimed_octet() as first:
        random.seed(1)
        with embedded.claimed_octet() as second:
            assert first != second


@pytest.mark.parametrize("place", [("127.{}.254.254", modelhub.PORT), ("127.{}.0.12", SSH_PORT)])
def test_a_lab_whose_first_node_is_switched_off_keeps_its_network(place, octet, monkeypatch):
    monkeypatch.setenv("SPARKLAB_OCTET", str(octet))
    monkeypatch.setattr(embedded, "CLAIM_PORT", 2220)  # the fixture's claim has the other one
    with embedded.claimed_octet() as free:
        assert free == octet
    address, port = place
    with socket.create_server((address.format(octet), port)), pytest.raises(api.LabError, match="no free loopback"):
        embedded.claimed_octet().__enter__()


def test_a_directory_that_is_no_lab_is_left_alone(tmp_path):
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "thesis.txt").write_text("mine")
    with pytest.raises(api.LabError, match="not empty"):
        api.up(1, directory=tmp_path / "lab")
    api.down(directory=tmp_path / "lab")
    assert (tmp_path / "lab" / "thesis.txt").read_text() == "mine"


def test_the_state_directory_is_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("SPARKOPS_LAB_DIR", str(tmp_path / "here"))
    assert api.inventory_path() == tmp_path / "here" / "inventory.yml"
    monkeypatch.delenv("SPARKOPS_LAB_DIR")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert api.inventory_path() == tmp_path / "state" / "sparkops" / "lab" / "inventory.yml"
    with pytest.raises(api.LabError, match="no lab is running"):
        api.status()


@pytest.mark.parametrize("wrong", [{"nodes": 0}, {"ray": "maybe"}, {"backend": "cloud"}])
def test_a_wrong_wish_is_refused_before_anything_is_made(tmp_path, wrong):
    with pytest.raises(api.LabError):
        api.up(wrong.pop("nodes", 1), directory=tmp_path / "lab", **wrong)
    assert not (tmp_path / "lab").exists()


def test_the_faults_that_are_listed_are_those_of_the_lab_that_is_up(tmp_path):
    assert "worker-never-joins" in api.kinds(directory=tmp_path)
    (tmp_path / "lab.json").write_text('{"backend": "docker"}')
    assert "power-loss" in api.kinds(directory=tmp_path)


def asked(nodes, octet, *lines, token=None):
    """What the lab's process answers to each line for a node's program."""

    async def one(where, line):
        address, port, own = where.split("/")
        reader, writer = await asyncio.open_connection(address, int(port))
        words = line.split()
        whole = (own if token is None else token, "node1", str(len(words)), *words)
        writer.write("".join(f"{word}\0" for word in whole).encode())
        writer.write_eof()
        said = await reader.read()
        writer.close()
        return said.decode()

    async def every():
        answers = Answers(nodes.place / "nodes", octet)
        async with await answers.serve():
            return [await one(answers.where, line) for line in lines]

    return asyncio.run(every())


def test_a_program_is_answered_stream_by_stream_and_with_its_code(nodes, octet):
    made = nodes.ended("c", 3, log=((1, "out"), (1, "more"), (2, "err")))
    missing = "Error: No such object: nobody\n"
    lines = ("docker ps -aq --no-trunc", "docker inspect --format {{.State.ExitCode}} c nobody", "docker logs c")
    assert asked(nodes, octet, *lines) == [
        f"all\n{made.id}\n",
        f"1 2\n3\n2 {len(missing)}\n{missing}end 1\n",
        "1 9\nout\nmore\n2 4\nerr\nend 0\n",
    ]


def test_what_waits_is_wrong_or_goes_to_and_fro_is_left_to_the_program(nodes, octet):
    nodes.ended("c", 0, log=[(1 + number % 2, str(number)) for number in range(30)])
    lines = ("docker logs --follow c", "docker logs -n x c", "docker hover", "docker", "nobody", "docker logs c")
    assert asked(nodes, octet, *lines) == ["no\n"] * len(lines)
    nodes.fault("gpu-hangs")
    assert asked(nodes, octet, "nvidia-smi -L") == ["no\n"]


def test_nobody_without_the_token_is_answered(nodes, octet):
    for token in ("", "0" * 32):
        assert asked(nodes, octet, "docker ps", token=token) == [""]
