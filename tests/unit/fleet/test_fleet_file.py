"""`fleet.yml`: what it says, and how a mistake in it is told."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sparkops.core.fleet.fleet_file import WantedFleet
from sparkops.core.topology import Topology
from sparkops.errors import UsageError
from sparkops.files import fleets

Read = Callable[[str], WantedFleet]

WHOLE = """\
deployments:
  chat: {recipe: openai-gpt-oss-120b, topology: cluster, nodes: [spark1, spark2], executor: mp, port: 8100}
  coder:
    recipe: ./mine/coder.yml
    set: {args.max-model-len: 65536, args.enforce-eager: true, args.seed: null, env.A: null, args.hf-overrides: {a: 1}}
    extra: [--seed, "7"]
    allow: [memory-fits]
    api-key: false
  embed: {recipe: nvidia/embed, replicas: 2, alongside: true, proxy: all}
"""

WRONG = {
    "{}": "deployments: is required",
    "deployments: {}": "deployments: has no deployment",
    "deployments: {a: {}}": "deployments.a.recipe: is required",
    "deployments: {a: {recipe: x, topologies: solo}}": "unknown key (did you mean topology?)",
    "deployments: {a: {recipe: x, topology: duo}}": "deployments.a.topology: no such topology: 'duo'",
    "deployments: {a: {recipe: x, topology: 2x-solo, replicas: 3}}": "is 3, but 2x-solo has 2 copies",
    "deployments: {a: {recipe: x, replicas: 0}}": "must be 1 or more",
    "deployments: {a: {recipe: x, port: 99999}}": "deployments.a.port: must be between",
    "deployments: {a: {recipe: x}, a: {recipe: y}}": "a",
    "deployments: {A b: {recipe: x}}": "Docker does not accept this name",
    "fleet: {}": "unknown key",
    "deployments: {a: {recipe: ''}}": "needs a value",
    "{deployments: {a: {recipe: x}}, endpoint: {port: 1}}": "endpoint.node: is required",
    "{deployments: {a: {recipe: x}}, endpoint: {node: ''}}": "endpoint.node: needs a value",
    "{deployments: {a: {recipe: x}}, endpoint: {node: n, port: 0}}": "endpoint.port: must be between",
    "{deployments: {a: {recipe: x}}, endpoint: {node: n, names: {b: c}}}": "endpoint.names.b: there is no deployment c",
    "{deployments: {loaded: {recipe: x}}, endpoint: {node: n, names: {b: loaded}}}": "loaded means whichever is loaded",
    "{deployments: {fleet-gateway: {recipe: x}}, endpoint: {node: n}}": "the endpoint is called fleet-gateway",
    "{deployments: {a: {recipe: x}}, endpoint: [n]}": "endpoint",
    "deployments: {a: {recipe: x, set: {env.A: !vault b}}}": "value cannot be used here",
}


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def reading(text: str) -> WantedFleet:
        file = tmp_path / "fleet.yml"
        file.write_text(text)
        return fleets.fleet(str(file))

    return reading


def test_every_option_of_a_deploy_has_its_place(read: Read, tmp_path: Path) -> None:
    chat, coder, embed = read(WHOLE).deployments
    assert (chat.topology, chat.nodes, chat.executor) == (Topology("cluster"), ("spark1", "spark2"), "mp")
    assert chat.sets == ("port=8100",)
    assert coder.recipe == str(tmp_path / "mine/coder.yml")
    assert coder.sets == (
        *("args.max-model-len=65536", "args.enforce-eager=true", "args.seed=null", "env.A="),
        'args.hf-overrides={"a": 1}',
    )
    assert (coder.extra, coder.allow, coder.open_access) == (("--seed", "7"), frozenset({"memory-fits"}), True)
    assert (embed.recipe, embed.topology, embed.alongside) == ("nvidia/embed", Topology("solo", 2), True)
    assert (embed.proxy, embed.where.rpartition(":")[2]) == ("all", "9")


@pytest.mark.parametrize(("text", "problem"), WRONG.items())
def test_a_mistake_is_told_with_its_line(read: Read, text: str, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(text)
    assert problem in caught.value.message
    assert "fleet.yml:1:" in caught.value.message


def test_a_file_that_is_not_there_is_told_so() -> None:
    with pytest.raises(UsageError, match=r"fleet.yml: no such file") as caught:
        fleets.fleet("nowhere/fleet.yml")
    assert caught.value.hint
