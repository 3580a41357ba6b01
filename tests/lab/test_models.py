"""A model over real sshd and tar: one download, copies down the chain, kills in the middle, a full disk."""

import contextlib
import dataclasses
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support import models
from support.models import FIRST, MODEL, SHARDS

NODES = ("node1", "node2", "node3")
NAME = f"acme--tiny-{FIRST[:12]}"
FOLDER = "/home/spark/.cache/huggingface/hub/models--acme--tiny"
FETCH = ("model", "fetch", MODEL, "--stall", "20s")
GATE = "/usr/local/bin/tar"
GATED = """#!/bin/sh
/usr/bin/tar "$@" | { head -c 10000000; while [ -e "$0" ]; do sleep 0.1; done; cat; }
"""
"""In the place of tar: it gives so much, and the rest when it is removed."""


@pytest.fixture
def hub(trio: Any) -> Iterator[Any]:
    """On this machine, which the nodes reach at the first address of their network."""
    with models.serving(models.sharded(1, length=40_000_000), "0.0.0.0", f"{trio.record['subnet']}.1") as made:
        yield made
    for node in NODES:
        trio.on(node, "rm", "-rf", FOLDER)


@pytest.fixture
def person(trio: Any, hub: Any) -> Any:
    return dataclasses.replace(trio, more={"HF_ENDPOINT": hub.endpoint})


def left(lab: Any, node: str) -> str:
    """What a copy must take away with it."""
    look = "ls -A .local/state/sparkops/models .local/state/sparkops/relay; grep sparkops-copy .ssh/authorized_keys; "
    look += f"ls -d {FOLDER}/incoming*; ls {FOLDER}/blobs/*.incomplete"
    return str(
        lab.ran_on(node, "sh", "-c", f"cd /home/spark; {{ {look}; }} 2>/dev/null | grep -v :", user="spark").stdout
    ).strip()


def kill(lab: Any, node: str, job: str) -> None:
    """The whole group at once, as nothing that could still tidy up."""
    pid = f"$(cat /home/spark/.local/state/sparkops/jobs/{job}/pid)"
    assert lab.ran_on(node, "bash", "-c", f"kill -9 -- -{pid}").returncode == 0


@contextlib.contextmanager
def held(lab: Any) -> Iterator[Any]:
    """A fetch of which the copies have begun and stand still, until the block ends."""
    megabytes = f"du -sk --apparent-size {FOLDER}/incoming.sparkops | grep -Eq '^[0-9]{{4}}'"
    lab.ran_on("node1", "sh", "-c", f"cat >{GATE} && chmod 755 {GATE}", stdin=GATED)
    try:
        process = lab.start(*FETCH)
        lab.on("node2", "timeout", "600", "sh", "-c", f"until {megabytes}; do sleep 0.1; done")
        yield process
    finally:
        lab.on("node1", "rm", GATE)


def whole(lab: Any) -> bool:
    return all(not one["problems"] for one in lab.json("model", "verify", MODEL)["nodes"])


def test_one_download_three_nodes_and_nothing_of_root(person: Any, hub: Any) -> None:
    found = person.json(*FETCH)
    assert [(one["fetched"] > 0, one["copied"] > 0) for one in found["nodes"]] == [
        (True, False), (False, True), (False, True),
    ]  # fmt: skip
    assert len(hub.asked) == len(SHARDS)
    assert whole(person)
    for node in NODES:
        assert person.on(node, "find", FOLDER, "!", "-user", "spark") == ""
        assert left(person, node) == ""
    assert person.json(*FETCH)["changed"] is False
    assert len(hub.asked) == len(SHARDS)


def test_whoever_is_killed_in_the_middle_the_next_run_completes(
    person: Any, hub: Any, eventually: Callable[..., bool]
) -> None:
    hub.held = True
    process = person.start(*FETCH)
    assert eventually(lambda: person.ran_on("node1", "sh", "-c", f"ls {FOLDER}/blobs/*.incomplete").returncode == 0)
    kill(person, "node1", "fetch-acme--tiny")
    person.ended(process, 5)
    assert person.ran_on("node1", "ls", f"{FOLDER}/snapshots/{FIRST}").returncode != 0
    hub.held = False
    with held(person) as process:
        kill(person, "node2", f"copy-{NAME}")
    person.ended(process, None)
    person.cli(*FETCH)
    assert whole(person)
    assert [left(person, node) for node in NODES] == ["", "", ""]


def test_a_disk_that_is_or_becomes_full_is_said_with_numbers_and_left_clean(person: Any, hub: Any) -> None:
    with held(person) as process:
        person.fault("node2", "disk-full")
    try:
        ran = person.ended(process, 5)
        assert person.ran_on("node2", "ls", f"{FOLDER}/snapshots/{FIRST}").returncode != 0
        what_it_must_hold = f"copy-{NAME}.json"
        assert [left(person, node) for node in NODES] == ["", what_it_must_hold, ""]
        refused = person.json(*FETCH, code=5)["error"]["message"]
    finally:
        person.fault("node2", "disk-full", off=True)
    assert "the disk became full during the copy, and partial files were removed: need " in ran.err
    assert "node2: the disk is too full for acme/tiny@" in ran.err
    assert "node2: the disk is too full for acme/tiny" in refused
    assert "need" in refused
    copied = {node["name"]: node["copied"] > 0 for node in person.json(*FETCH)["nodes"]}
    assert copied == {"node1": False, "node2": True, "node3": False}
    assert [left(person, node) for node in NODES] == ["", "", ""]
    assert whole(person)


def test_a_link_that_drops_in_the_middle_leaves_no_file_that_looks_whole(
    person: Any, hub: Any, eventually: Callable[..., bool]
) -> None:
    ended = f"/home/spark/.local/state/sparkops/jobs/copy-{NAME}/rc"
    with held(person) as process:
        process.send_signal(signal.SIGSTOP)  # else it tries again, over the other network
        person.fault("node2", "cx7-down")
    try:
        assert eventually(lambda: person.ran_on("node1", "test", "-s", ended).returncode == 0)
        assert person.ran_on("node2", "ls", f"{FOLDER}/snapshots/{FIRST}").returncode != 0
    finally:
        person.fault("node2", "cx7-down", off=True)
        process.send_signal(signal.SIGCONT)
    person.ended(process, None)
    person.cli(*FETCH)
    assert whole(person)
    assert [left(person, node) for node in NODES] == ["", "", ""]
