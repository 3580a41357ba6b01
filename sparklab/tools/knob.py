"""`/proc/sys/vm/drop_caches`: writable only for commands of the emulated sudo."""

import contextlib
import os
import select
import stat
import threading
from collections.abc import Iterator

from sparklab.layout import Node
from sparklab.tree import memory


def path(node: Node) -> str:
    return node.root("proc", "sys", "vm", "drop_caches")


def close(node: Node) -> None:
    """Make it a socket's file: it exists, and no write to it succeeds, even if the lab runs as root."""
    temporary = f"{path(node)}.{os.getpid()}"
    os.mknod(temporary, stat.S_IFSOCK | 0o200)
    os.replace(temporary, path(node))


@contextlib.contextmanager
def opened(node: Node) -> Iterator[None]:
    """Make it a pipe while root's command runs; a write drops the page cache at once."""
    temporary = f"{path(node)}.{os.getpid()}"
    os.mkfifo(temporary, 0o600)
    handle = os.open(temporary, os.O_RDWR | os.O_NONBLOCK)
    os.replace(temporary, path(node))
    alive = _closed_after_a_kill(node, handle)
    done = threading.Event()
    follower = threading.Thread(target=_follow, args=(node, handle, done))
    follower.start()
    try:
        yield
    finally:
        done.set()
        follower.join()
        _close_own(node, handle)
        os.close(handle)
        os.close(alive)


def _close_own(node: Node, handle: int) -> None:
    """Close it, unless another command of root has opened it since."""
    if os.stat(path(node)).st_ino == os.fstat(handle).st_ino:
        close(node)


def _closed_after_a_kill(node: Node, handle: int) -> int:
    """Have it closed when this process is killed: a pipe without a reader would stop every later write for ever.

    Returns what keeps it open.
    """
    ends, alive = os.pipe()
    if os.fork() == 0:
        os.setsid()  # what ends the command's process group must not end this
        os.close(alive)
        os.read(ends, 1)
        with contextlib.suppress(OSError):
            _close_own(node, handle)
        os._exit(0)
    os.close(ends)
    return alive


def _follow(node: Node, handle: int, done: threading.Event) -> None:
    while True:
        last = done.is_set()
        if select.select([handle], [], [], 0 if last else 0.05)[0]:
            if set(os.read(handle, 4096)) & set(b"13"):
                memory.change(node, cached=memory.CACHE_DROPPED)
        elif last:
            return
