"""What is measured of a fabric, what at once, and what is read of the table that ib_write_bw prints."""

from ipaddress import IPv4Interface

from sparkops.core.fabric import End, Fabric, Segment
from sparkops.core.fabric.bandwidth import average, couples, rounds
from sparkops.core.facts import Interface, Port, Rdma

TABLE = """
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]    MsgRate[Mpps]
 65536      882805           0.00               92.57                0.176554
---------------------------------------------------------------------------------------
"""


def port(number: int, subnets: str) -> Port:
    """A port with an interface for each letter, in the subnet of this letter."""
    made = (
        Interface(
            f"if{letter}", "up", True, 9000, "", 200000, (IPv4Interface(f"192.168.{ord(letter)}.{number}/24"),),
            "p0", None, Rdma(f"roce{letter}", f"if{letter}", "4: ACTIVE", "", "", "", "", ()),
        )
        for letter in subnets
    )  # fmt: skip
    return Port("p0", tuple(made))


def measured(*segments: str, ports: dict[str, str]) -> list[list[str]]:
    """The rounds; a segment is a text of nodes' letters, a node's port stands in each segment that names it."""
    ends = {name: End(name, f"p{at}") for at, name in enumerate(ports)}
    known = {end: port(at, ports[name]) for at, (name, end) in enumerate(ends.items(), start=1)}
    cabled = tuple(Segment(tuple(ends[name] for name in segment.split("-")), True) for segment in segments)
    return [[str(couple) for couple in turn] for turn in rounds(couples(Fabric(known, cabled), cabled))]


def test_each_interface_of_a_cable_is_measured_in_its_own_turn() -> None:
    assert measured("a-b", ports={"a": "xy", "b": "xy"}) == [["a ifx to b ifx"], ["a ify to b ify"]]


def test_at_a_switch_each_node_measures_with_the_next_one_and_no_node_twice_at_once() -> None:
    told = measured("a-b-c-d", ports=dict.fromkeys("abcd", "x"))
    assert told == [["a ifx to b ifx", "c ifx to d ifx"], ["b ifx to c ifx", "d ifx to a ifx"]]


def test_interfaces_without_a_common_subnet_are_not_measured() -> None:
    assert measured("a-b", ports={"a": "xy", "b": "yz"}) == [["a ify to b ify"]]
    assert measured("a-b", ports={"a": "x", "b": "z"}) == []


def test_the_average_is_read_of_the_table_and_of_nothing_else() -> None:
    assert average(TABLE) == 92.57
    assert average("Couldn't connect to 192.168.100.2:18515\n1 2 3") is None
    assert average("") is None
