"""Supervises one container: starts its first process, writes its log, kills leftover processes, restarts by policy."""

import ctypes
import os
import signal
import subprocess
import threading
import time
from typing import IO

from sparklab import files, processes
from sparklab.fake_docker import rootfs
from sparklab.fake_docker.store import Container, now
from sparklab.layout import Node
from sparklab.tree import memory

PR_SET_CHILD_SUBREAPER = 36
FIRST_BACKOFF = 0.1
MOST_BACKOFF = 60.0
HEALTHY_SECONDS = 10.0
LINE_LIMIT = 16384
PATIENCE = 30.0


class Shim:
    def __init__(self, container: Container) -> None:
        self.container = container
        self.node = container.node
        self.lock = threading.Lock()
        self.woken = threading.Event()
        self.backoff = FIRST_BACKOFF
        self.restarts = 0
        self.copies: list[threading.Thread] = []
        signal.signal(signal.SIGUSR1, lambda *_: self.woken.set())
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def supervise(self) -> None:
        told = False
        while True:
            began = time.monotonic()
            process = self._start()
            if not told:
                os.write(1, b"started")
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                told = True
            code = self._reap(process)
            if time.monotonic() - began >= HEALTHY_SECONDS:
                self.backoff = FIRST_BACKOFF
            again = self._again(code)
            self._clear(process.pid)
            if not again or not self._pause():
                self.container.save(status="exited", pid=0, exit_code=code, finished=now())
                return

    def _start(self) -> subprocess.Popen[bytes]:
        environment = rootfs.environment(self.container)
        words = rootfs.words(self.container)
        process = subprocess.Popen(
            words,
            executable=rootfs.program(self.container, words[0], environment["PATH"]),
            stdin=None if self.restarts == 0 else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=self.container.path("rootfs"),
            start_new_session=True,
        )
        streams = ((process.stdout, "stdout"), (process.stderr, "stderr"))
        self.copies = [threading.Thread(target=self._copy, args=stream, daemon=True) for stream in streams]
        for copy in self.copies:
            copy.start()
        # the node's /proc says which container a process is of
        files.make(
            self.node.root("proc", str(process.pid), "cgroup"), f"0::/system.slice/docker-{self.container.id}.scope\n"
        )
        self.container.save(
            status="running",
            pid=process.pid,
            start=processes.start_of(process.pid),
            shim=[os.getpid(), processes.start_of(os.getpid())],
            started=now(),
            restarts=self.restarts,
        )
        return process

    def _copy(self, stream: IO[bytes] | None, name: str) -> None:
        assert stream
        while line := stream.readline(LINE_LIMIT):
            with self.lock:
                files.append(self.container.log, {"log": line.decode(errors="replace"), "stream": name, "time": now()})

    def _reap(self, process: subprocess.Popen[bytes]) -> int:
        """Wait for the first process, reap orphans meanwhile, and return the exit code."""
        while True:
            pid, status = os.wait()
            if pid == process.pid:
                break
        process.returncode = code = os.waitstatus_to_exitcode(status)
        return code if code >= 0 else 128 - code

    def _clear(self, pid: int) -> None:
        """Kill what the first process left, and wait until its last line is in the log."""
        self._end_the_rest()
        for copy in self.copies:  # no process has the pipe open any more
            copy.join(PATIENCE)
        files.clear(self.node.root("proc", str(pid)))
        memory.change(self.node, used={self.container.id: 0})

    def _end_the_rest(self) -> None:
        mine = (os.getpid(), processes.start_of(os.getpid()))
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and (left := processes.family(self.container.markers, [mine])):
            processes.send(left, signal.SIGKILL)
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                pass
            time.sleep(0.01)

    def _again(self, code: int) -> bool:
        """Return whether the policy restarts it, and publish that before the rest of it ends."""
        policy, most = self.container.config["restart"]
        wanted = policy in ("always", "unless-stopped") or (
            policy == "on-failure" and code and (not most or self.restarts < most)
        )
        if not wanted or self.container.stopped_by_hand:
            return False
        self.restarts += 1
        self.container.save(status="restarting", pid=0, exit_code=code, finished=now(), restarts=self.restarts)
        return True

    def _pause(self) -> bool:
        self.woken.wait(self.backoff)
        self.backoff = min(MOST_BACKOFF, self.backoff * 2)
        return not self.container.stopped_by_hand


def main(name: str, words: list[str]) -> int:
    container = Container(Node(words[0]), words[1])
    try:
        Shim(container).supervise()
    except OSError as error:
        os.write(1, str(error).encode())
    return 0
