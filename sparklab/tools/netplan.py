"""netplan: `apply` gives the interfaces of the fabric what the files say; `generate` only reads them."""

import os

from sparklab.layout import here
from sparklab.tools.repairs import control
from sparklab.tools.say import fail
from sparklab.tree import netplan


def main(name: str, words: list[str]) -> int:
    if words not in (["apply"], ["generate"]):
        return fail(f"netplan: error: the lab knows only apply and generate, not {' '.join(words)}", 2)
    if os.environ.get("SPARKLAB_SUDO") != "1":
        return fail("Permission denied: netplan must be run as root")
    if words == ["apply"]:
        node = here()
        netplan.apply(node)
        control(node, {"do": "network", "node": node.name})
    return 0
