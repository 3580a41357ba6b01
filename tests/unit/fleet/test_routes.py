"""Which servers answer to which model name at a fleet's endpoint, and how two configurations differ."""

import json
from typing import Any

import pytest

from sparkops.core.fleet.routes import routes
from sparkops.core.fleet.written_routes import changed_routes, further_names, written_routes
from sparkops.core.revision import Member, Revision, RevisionImage
from sparkops.node_commands import gateway

IMAGE = RevisionImage("vllm-node", "0")


def deployment(name: str, served: str, *nodes: str, **more: Any) -> Revision:
    members = tuple(Member(one, f"10.0.0.{one[-1]}", "server", 0, 8000) for one in nodes)
    return Revision(name, "r", f"org/{served}", served, "chat", "solo", None, IMAGE, {}, {}, (), members, **more)


CHAT, MORE, CODER = (
    deployment("chat", "gpt", "node1", "node2"),
    deployment("more", "gpt", "node3"),
    deployment("coder", "qwen", "node3"),
)


def text(*deployed: Revision, key: str = "k", **names: str) -> str:
    return gateway.config(routes({one.deployment: (one, key) for one in deployed}, names))


def test_a_name_leads_to_every_server_of_its_deployments_once() -> None:
    found = routes({"chat": (CHAT, "k"), "more": (MORE, "k"), "coder": (CODER, "")}, {"auto": "chat", "gpt": "chat"})
    places = {one.name: [(it.deployment, it.place.name) for it in one.servers] for one in found}
    chat = [("chat", "node1"), ("chat", "node2")]
    assert places == {"auto": chat, "gpt": [*chat, ("more", "node3")], "qwen": [("coder", "node3")]}


def test_the_order_of_the_deployments_does_not_matter() -> None:
    assert text(CHAT, MORE, CODER) == text(CODER, MORE, CHAT)


def test_a_worker_and_a_server_without_an_api_are_no_servers() -> None:
    head, worker = (
        Member(f"node{n}", f"10.0.0.{n}", role, n, port) for n, role, port in ((1, "head", 8000), (2, "worker", None))
    )
    (found,) = routes(
        {"chat": (Revision("chat", "r", "m", "gpt", "chat", "cluster", "ray", IMAGE, {}, {}, (), (head, worker)), "k")},
        {},
    )
    assert [one.place.name for one in found.servers] == ["node1"]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("", text(CHAT), ["gpt -> chat on node1, chat on node2"]),
        (text(CHAT), text(CHAT), []),
        (text(CHAT, auto="chat"), text(CHAT), ["auto ends"]),
        (
            text(CHAT, auto="chat"),
            text(CHAT, auto="loaded"),
            ["auto -> whichever is loaded of chat on node1, chat on node2"],
        ),
        (text(CHAT), text(CHAT, key="other"), ["gpt: another API key"]),
        (text(CHAT, CODER), text(deployment("chat", "gpt", "node2"), CODER), ["gpt -> chat on node2"]),
        ("{", text(CODER), ["qwen -> coder on node3"]),
        ("[" * 100_000, text(CODER), ["qwen -> coder on node3"]),
        (json.dumps({"sparkops": {"models": {"": "gpt"}}, "model_list": {}}), text(CODER), ["qwen -> coder on node3"]),
    ],
)
def test_two_configurations_differ_by_name(before: str, after: str, told: list[str]) -> None:
    assert list(changed_routes(before, after)) == told


def test_the_names_of_the_file_are_found_again_in_the_configuration() -> None:
    written = written_routes(text(CHAT, CODER, auto="chat", best="coder"))
    assert further_names(written, {"gpt", "qwen"}) == {"auto": "chat", "best": "coder"}
    written = written_routes(text(CHAT, CODER, auto="loaded"))
    assert further_names(written, {"gpt", "qwen"}) == {"auto": "loaded"}
    assert [*written["auto"].servers.values()] == ["chat on node1", "chat on node2", "coder on node3"]
    assert written_routes(json.dumps({"sparkops": {"models": {"": ["a\nb", "\x1b[31m"]}}})) == {}
