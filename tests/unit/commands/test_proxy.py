"""What LiteLLM is told: every server shares the served name, and is a way out when the others do not answer."""

from __future__ import annotations

import json

import pytest

from sparkops.commands import proxy
from sparkops.core.revision import Image, Member, Revision

NAMES = ("spark1", "spark2", "spark3")


@pytest.fixture
def config():
    servers = [Member(name, f"10.0.0.{rank}", "server", rank, 8000) for rank, name in enumerate(NAMES, 1)]
    front = Member("spark1", "10.0.0.1", "proxy", 0, 4000)
    image = Image("vllm-node", "0")
    members = (*servers, front)
    args = ("d", "r", "org/model", "org/model", "chat", "3x-solo", None, image, {}, {}, (), members)
    return json.loads(proxy.config(Revision(*args)))


def test_every_server_answers_under_the_served_name(config):
    served = [one["litellm_params"]["api_base"] for one in config["model_list"] if one["model_name"] == "org/model"]
    assert served == [f"http://10.0.0.{rank}:8000/v1" for rank in (1, 2, 3)]


def test_a_request_whose_retries_drew_the_server_that_is_down_falls_back_to_each_server_in_turn(config):
    ((name, groups),) = config["router_settings"]["fallbacks"][0].items()
    by_group = {one["model_name"]: one["litellm_params"]["api_base"] for one in config["model_list"]}
    assert name == "org/model"
    assert [by_group[group] for group in groups] == [f"http://10.0.0.{rank}:8000/v1" for rank in (1, 2, 3)]


def test_no_two_entries_share_an_id(config):
    ids = [one["model_info"]["id"] for one in config["model_list"]]
    assert len(set(ids)) == len(ids)


def test_clients_see_the_served_name_only_and_no_key_is_written(config):
    assert "models=[SERVED]" in proxy.AUTH
    assert config["model_list"][0]["model_name"] == "org/model", "which the key check reads as the served name"
    assert {one["litellm_params"]["api_key"] for one in config["model_list"]} == {"os.environ/VLLM_API_KEY"}
