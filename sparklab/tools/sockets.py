"""ss: the real TCP sockets of this machine that belong to the node's addresses."""

from sparklab.layout import here
from sparklab.tools.say import out

LISTEN = "0A"
ESTABLISHED = "01"


def main(name: str, words: list[str]) -> int:
    node = here()
    flags = "".join(word[1:] for word in words if word.startswith("-") and not word.startswith("--"))
    wanted = {LISTEN} if "l" in flags else {LISTEN, ESTABLISHED} if "a" in flags else {ESTABLISHED}
    mine = {node.address, *node.fabric, node.loopback}
    if "H" not in flags and "--no-header" not in words:
        out("State  Recv-Q Send-Q Local Address:Port Peer Address:PortProcess")
    for local, peer, state in _sockets():
        address, _, port = local.partition(":")
        if address in mine and state in wanted and _port_matches(words, port):
            word = "LISTEN" if state == LISTEN else "ESTAB "
            out(f"{word} 0      128    {local}      {'0.0.0.0:*' if state == LISTEN else peer}")
    return 0


def _port_matches(words: list[str], port: str) -> bool:
    filters = [word for word in " ".join(words).replace("(", " ").replace(")", " ").split() if word.startswith(":")]
    return not filters or f":{port}" in filters


def _sockets() -> list[tuple[str, str, str]]:
    with open("/proc/net/tcp", encoding="ascii") as table:
        rows = [line.split() for line in table.readlines()[1:]]
    return [(_address(row[1]), _address(row[2]), row[3]) for row in rows]


def _address(text: str) -> str:
    host, port = text.split(":")
    parts = [str(int(host[place : place + 2], 16)) for place in (6, 4, 2, 0)]
    return f"{'.'.join(parts)}:{int(port, 16)}"
