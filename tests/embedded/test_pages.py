"""Chat in the browser: from the first sign-in through page and endpoint to a model, and back after a restart."""

import json
from urllib.parse import urlsplit

import pytest

from support import serving

NEMOTRON = "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4"
FLEET = """\
deployments:
  small: {recipe: nemotron-3-nano-nvfp4, nodes: [node2]}
  chat: {recipe: open-webui}
endpoint: {node: node1}
"""
ADMIN = "admin@localhost"


@pytest.fixture(scope="module")
def lab(lab_with):
    found = lab_with(nodes=2, speed=60)
    (found.work / "fleet.yml").write_text(FLEET)
    found.json("apply", "--setup")
    return found


@pytest.fixture
def page(lab):
    (found,) = lab.json("diff")["pages"]
    return found["url"]


def asked(page, path, body=None, token=""):
    code, text = serving.request(f"{page}{path}", body, token, 60)
    return code, json.loads(text) if text.startswith("{") else text


def token(lab, page):
    password = lab.json("key", "--deployment", "chat")["key"]
    code, found = asked(page, "/api/v1/auths/signin", {"email": ADMIN, "password": password})
    assert code == 200, found
    return found["token"]


def used(lab):
    return {(one["name"], one["model"]) for one in lab.json("gateway", "usage")["usage"]}


def test_who_has_the_key_signs_in_and_chats_and_nobody_else_gets_in(lab, page, until):
    assert urlsplit(page).port == 3000
    assert asked(page, "/api/v1/auths/signin", {"email": ADMIN, "password": "guess"})[0] == 400
    stranger = {"name": "Eve", "email": "eve@example.org", "password": "long-enough-1"}
    assert asked(page, "/api/v1/auths/signup", stranger)[0] == 403
    assert asked(page, "/api/models")[0] in (401, 403)
    mine = token(lab, page)
    assert [one["id"] for one in asked(page, "/api/models", None, mine)[1]["data"]] == [NEMOTRON]
    body = {"model": NEMOTRON, "messages": [{"role": "user", "content": "Hello"}]}
    code, answer = asked(page, "/api/chat/completions", body, mine)
    assert (code, "choices" in answer) == (200, True)
    assert until(lambda: ("chat", NEMOTRON) in used(lab))
    (front,) = [one for one in lab.json("watch", "--once")["deployments"] if one["usage"]]
    assert ("chat", NEMOTRON) in {(one["name"], one["model"]) for one in front["usage"]["people"]}


def test_it_comes_back_with_its_accounts_and_a_new_endpoint_after_a_replacement(lab, page):
    before = token(lab, page)
    (lab.work / "fleet.yml").write_text(FLEET.replace("{node: node1}", "{node: node1, port: 4100}"))
    (found,) = lab.json("apply")["pages"]
    assert found["action"] == "replace"
    assert [one["id"] for one in asked(page, "/api/models", None, before)[1]["data"]] == [NEMOTRON]


def test_a_key_that_was_revoked_shuts_it_off_until_the_next_apply(lab, page, until):
    mine = token(lab, page)
    lab.json("gateway", "key", "revoke", "chat")
    assert until(lambda: asked(page, "/api/models", None, mine)[1]["data"] == [])
    lab.json("apply")
    assert until(lambda: asked(page, "/api/models", None, mine)[1]["data"] != [])


def test_nothing_that_stands_on_the_node_for_all_to_read_has_the_key(lab):
    key = lab.json("key", "--deployment", "chat")["key"]
    (name,) = [name for _, name in lab.running() if "-page-" in name]
    assert key not in lab.on("node1", "docker", "inspect", name)
    assert key not in lab.on("node1", "docker", "logs", name)
