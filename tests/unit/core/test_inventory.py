"""Inventories in Ansible's shape: what is inherited, what is selected, what is refused and why."""

from __future__ import annotations

import pytest

from sparkops.core import inventory_file
from sparkops.core.inventory import Inventory, Node
from sparkops.errors import UsageError
from sparkops.located import parse


def read(text: str) -> Inventory:
    return inventory_file.read(parse(text.encode(), "inv.yml"))


FOUR = """
all:
  vars: {user: nvidia, ansible_port: 2200, recipe: common}
  hosts:
    spark1: {address: 10.0.0.1}
    spark2: {ansible_host: 10.0.0.2, ansible_user: me}
  children:
    team:
      vars: {api_port: 9000, recipe: special}
      hosts:
        spark4: {address: 10.0.0.4, port: 22}
      children:
        corner:
          vars: {api_port: 9001, become: sudo}
          hosts:
            spark3: {address: 10.0.0.3, fabric_address: 192.168.177.13, key_file: ~/k, cache_dir: /models}
"""


def names(inventory: Inventory, limit: str | None) -> list[str]:
    return [node.name for node in inventory.select(limit)]


def test_variables_are_inherited_and_the_nearest_wins() -> None:
    nodes = {node.name: node for node in read(FOUR).nodes}
    assert nodes["spark1"] == Node("spark1", "10.0.0.1", "nvidia", 2200)
    assert nodes["spark2"] == Node("spark2", "10.0.0.2", "me", 2200)
    assert (nodes["spark4"].port, nodes["spark4"].api_port) == (22, 9000)
    third = Node("spark3", "10.0.0.3", "nvidia", 2200, "~/k", "sudo", "/models", 9001, "192.168.177.13")
    assert nodes["spark3"] == third


def test_nodes_and_groups_keep_the_order_of_the_file() -> None:
    inventory = read(FOUR)
    assert names(inventory, None) == ["spark1", "spark2", "spark4", "spark3"]
    assert inventory.groups["team"] == ("spark4", "spark3")
    assert inventory.groups["corner"] == ("spark3",)


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("spark2", ["spark2"]),
        ("spark2,spark1", ["spark1", "spark2"]),
        ("team", ["spark4", "spark3"]),
        ("te*", ["spark4", "spark3"]),
        ("spark[12]", ["spark1", "spark2"]),
        ("!team", ["spark1", "spark2"]),
        ("all,!spark1", ["spark2", "spark4", "spark3"]),
        ("team,!corner,spark1", ["spark1", "spark4"]),
    ],
)
def test_a_limit_takes_names_groups_globs_and_not(limit: str, expected: list[str]) -> None:
    assert names(read(FOUR), limit) == expected


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ("spark9", "no node or group 'spark9' in inv.yml (did you mean spark"),
        ("tema", "did you mean team?"),
        ("spark1,!spark1", "selects no node"),
        ("zzz*", "no node or group"),
    ],
)
def test_a_limit_that_selects_nothing_is_refused(limit: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        read(FOUR).select(limit)
    assert message in str(error.value)


def test_the_recipe_is_that_of_the_selected_nodes_when_they_agree() -> None:
    inventory = read(FOUR)
    assert inventory.recipe == "common"
    assert inventory.recipe_for(inventory.select("team")) == "special"
    with pytest.raises(UsageError, match="different recipes: common, special"):
        inventory.recipe_for(inventory.nodes)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("spark", ["spark"]),
        ("spark[1:3]", ["spark1", "spark2", "spark3"]),
        ("n[08:11]", ["n08", "n09", "n10", "n11"]),
        ("n[1:5:2]x", ["n1x", "n3x", "n5x"]),
        ("r[a:c]", ["ra", "rb", "rc"]),
        ("r[1:2]n[1:2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
    ],
)
def test_a_range_is_several_hosts(name: str, expected: list[str]) -> None:
    assert inventory_file.expand(name) == expected


def test_a_range_and_its_members_are_the_same_hosts() -> None:
    inventory = read(
        "all:\n  children:\n    a: {hosts: {'s[1:2]': {user: u}}, vars: {port: 5}}\n"
        "  hosts: {s1: {address: 10.0.0.1}, s2: {address: 10.0.0.2}}\n"
    )
    assert [(node.name, node.user, node.port) for node in inventory.nodes] == [("s1", "u", 5), ("s2", "u", 5)]


def test_a_group_may_stand_beside_all_and_a_host_may_be_its_own_address() -> None:
    inventory = read("sparks:\n  hosts:\n    10.0.0.7:\n    10.0.0.8:\n")
    assert [node.address for node in inventory.nodes] == ["10.0.0.7", "10.0.0.8"]
    assert inventory.groups["sparks"] == ("10.0.0.7", "10.0.0.8")


def test_variables_of_others_are_a_warning() -> None:
    inventory = read(
        "all:\n  vars: {ansible_password: !vault x, ansible_become: true, rack: 4}\n  hosts: {a: {address: 10.0.0.1}}\n"
    )
    assert [warning.split(": ")[1] for warning in inventory.warnings] == [
        "all.vars.ansible_password",
        "all.vars.ansible_become",
        "all.vars.rack",
    ]


def test_a_lattice_of_groups_is_read_at_once() -> None:
    lines = ["all:", "  children:", "    g0a: {hosts: {h: {address: 10.0.0.1}}}", "    g0b: {vars: {port: 7}}"]
    for level in range(1, 40):
        lines += [f"    g{level}{side}: {{children: {{g{level - 1}a: , g{level - 1}b: }}}}" for side in "ab"]
    inventory = read("\n".join(lines) + "\n")
    assert inventory.groups["g39a"] == ("h",)
    assert inventory.nodes[0].port == 22


def test_a_nearer_null_takes_a_variable_away() -> None:
    inventory = read("all:\n  vars: {recipe: r, user: u}\n  hosts: {a: {address: 10.0.0.1, recipe: , user: }}\n")
    assert (inventory.nodes[0].user, inventory.recipe, inventory.recipes) == (None, "r", {})


@pytest.mark.parametrize("name", sorted(inventory_file.ANSIBLE))
def test_no_variable_of_ansible_is_taken_for_a_slip(name: str) -> None:
    assert read(f"all:\n  vars: {{{name}: x}}\n  hosts: {{a: {{address: 10.0.0.1}}}}\n").warnings


HOST = "all:\n  hosts:\n    a:\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HOST + "      adress: 10.0.0.1\n", "inv.yml:4: all.hosts.a.adress: unknown variable (did you mean address?)"),
        (HOST + "      ansible_hots: 10.0.0.1\n", "inv.yml:4: all.hosts.a.ansible_hots: unknown variable"),
        (
            HOST + "      address: spark1.local\n",
            "inv.yml:4: a.address: must be an IP address, 'spark1.local' is a host",
        ),
        (HOST + "      address: 0.0.0.0\n", "inv.yml:4: a.address: 0.0.0.0 is no address of a machine"),
        (HOST, "inv.yml:3: a: address is missing"),
        (HOST + "      address:\n", "inv.yml:3: a.address: is required"),
        (HOST + "      address: 10.0.0.1\n      port: 99999\n", "inv.yml:5: a.port: must be between 1 and 65535"),
        (HOST + "      address: 10.0.0.1\n      port: ssh\n", "inv.yml:5: a.port: must be a whole number, not 'ssh'"),
        (HOST + "      address: 10.0.0.1\n      become: yes\n", "inv.yml:5: a.become: must be none or sudo, not True"),
        (HOST + "      address: 10.0.0.1\n    b: {address: 10.0.0.1}\n", "inv.yml:5: b.address: 10.0.0.1 is already"),
        (
            HOST + "      address: 10.0.0.1\n    b: {address: 10.0.0.2, fabric_address: 10.0.0.1}\n",
            "inv.yml:5: b.fabric",
        ),
        ("all:\n  host: {}\n", "inv.yml:2: all.host: unknown key (did you mean hosts?)"),
        ("all:\n  hosts: {}\n", "inv.yml:1: has no nodes"),
        ("all:\n  hosts: [a]\n", "inv.yml:2: all.hosts: must be a mapping, not a list"),
        ("all:\n  hosts: {'a[1:9999]': {}}\n", "inv.yml:2: all.hosts.a[1:9999]: makes more than 4096 nodes"),
        ("all:\n  hosts: {'a[5:1]': {}}\n", "inv.yml:2: all.hosts.a[5:1]: is an empty range"),
        ("all:\n  hosts: {'a b': {address: 10.0.0.1}}\n", "inv.yml:2: a b: is no name"),
        ("all:\n  children: {a: {children: {b: {children: {a: }}}}}\n", "inv.yml:1: a: is its own descendant"),
    ],
)
def test_a_wrong_inventory_says_where_and_why(text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        read(text)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_a_host_name_is_refused_with_the_way_out() -> None:
    with pytest.raises(UsageError) as error:
        read(HOST + "      address: spark1.local\n")
    assert "mDNS" in str(error.value)
    assert error.value.hint is not None
    assert "--resolve" in error.value.hint
