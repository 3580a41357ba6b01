"""Everything that can be made to go wrong on a node: one registry, one line each."""

from __future__ import annotations

FAULTS: dict[str, str] = {
    "unreachable": "sshd refuses connections and the open ones drop; what runs on the node goes on",
    "lost-after-send": "the connection drops right after the next changing command was accepted; that runs on",
    "bad-host-key": "sshd answers with another host key, as a re-installed or foreign machine does",
    "no-docker-group": "the user may not talk to Docker, as on a stock Spark",
    "sudo-password": "sudo wants the password (`spark`), as on a stock Spark",
    "cx7-down": "the CX7 link is down on both twins",
    "worker-never-joins": "`ray start --address` hangs and the worker never joins",
    "crash-while-loading": "the engine dies while it loads the weights",
    "engine-killed": "once: the engine's processes get SIGKILL",
    "engine-frozen": "the engine's processes are stopped (SIGSTOP) until --off",
    "peer-dead-health-green": "requests hang for ever behind a green /health, as when the other rank has died",
    "slow": "the engine takes five times as long to load, and SSH answers late",
    "reboot": "once: everything on the node dies, then containers restart by their policy",
    "no-image": "no image is on the node",
    "no-model": "no model is in the Hugging Face cache",
    "page-cache-full": "the page cache holds nearly all memory until caches are dropped",
}

ONE_SHOT = frozenset({"engine-killed", "reboot"})
