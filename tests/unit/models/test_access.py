"""What of this machine's settings a node is told."""

import pytest

from sparkops.core.hub_access import Access
from sparkops.verbs.model.fetch import asking


@pytest.mark.parametrize(
    ("proxy", "address", "handed_on"),
    [
        ("http://proxy.example:3128", "192.168.1.11", True),
        ("http://127.0.0.1:7890", "192.168.1.11", False),
        ("localhost:7890", "192.168.1.11", False),
        ("socks5h://[::1]:1080", "192.168.1.11", False),
        ("http://127.0.0.1:7890", "127.20.0.11", True),
    ],
)
def test_a_proxy_on_our_own_loopback_is_nobody_s_on_the_node(proxy: str, address: str, handed_on: bool) -> None:
    told = asking(Access(token="hf_x", proxies={"https_proxy": proxy}), address)
    assert told["token"] == "hf_x"
    assert told.get("proxies") == ({"https_proxy": proxy} if handed_on else None)


def test_a_token_is_in_no_text_of_the_options() -> None:
    assert "hf_x" not in repr(Access(token="hf_x", proxies={"https_proxy": "http://me:hf_x@proxy"}))
