"""`python3 -I -c TEXT` in an emulated container: 0.0.0.0 means the node's own addresses, as in `http.listen`."""

import asyncio
import os
import sys
from typing import Any

sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from sparklab.layout import here  # noqa: E402

_listen = asyncio.BaseEventLoop.create_server


async def _on_the_node(loop: Any, factory: Any, host: Any = None, *more: Any, **options: Any) -> Any:
    node = here()
    hosts = [node.address, *node.fabric, node.loopback] if host == "0.0.0.0" else host
    return await _listen(loop, factory, hosts, *more, **options)


if __name__ == "__main__":
    asyncio.BaseEventLoop.create_server = _on_the_node  # type: ignore[method-assign, assignment]
    text = sys.argv.pop(1)
    exec(compile(text, "<string>", "exec"), {"__name__": "__main__"})
