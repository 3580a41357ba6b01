"""The node scripts for simulated nodes: equal arguments, first lines and exit codes.

`SCRIPTS` and `COMMANDS` are defaults; a world takes its own (`SimulatedWorld(scripts={**SCRIPTS, "x": handler})`).
"""

from collections.abc import Mapping

from sparkops.core.plan import Result, Word
from sparkops.testing import copies, images, models, shell, upkeep
from sparkops.testing.docker import docker
from sparkops.testing.engine import SimulatedContainer
from sparkops.testing.facts import capture, link_local
from sparkops.testing.jobs import Starter, job
from sparkops.testing.node import EPOCH, Handler, SimulatedNode, said


def container(node: SimulatedNode, words: tuple[Word, ...], _stdin: str) -> Result:
    """`container remove|stop|start|aside|back|again NAME DEPLOYMENT STATE_DIR`: it must have our name and label."""
    verb, name, deployment = (str(word) for word in words[:3])
    one = node.engine.containers.get(name)
    if verb in ("back", "again"):
        return _back(node, name, again=verb == "again")
    if one is None or one.labels.get("sparkops.deployment") != deployment:
        missing = f"no container {name} of deployment {deployment}\n"
        return said(code=1, errors=missing) if verb == "start" else said()
    if verb == "start":
        node.engine.start(name, node.now)
        return said()
    if verb in ("remove", "drop"):
        path = f"{words[3]}/logs/{name}.log"
        node.files.pop(path, None)  # so that the newest log is last
        node.files[path] = "".join(f"{line}\n" for line in one.log)
        node.times[path] = node.now if one.running or one.finished is None else one.finished
    node.engine.stop(name, node.now)
    if verb in ("remove", "drop"):
        node.engine.remove(name, force=True)
    if verb == "aside":
        node.engine.containers.pop(f"{name}.aside", None)
        node.engine.rename(name, f"{name}.aside")
    return said()


def _back(node: SimulatedNode, name: str, again: bool) -> Result:
    if f"{name}.aside" not in node.engine.containers:
        return said()
    if name in node.engine.containers:
        return said(code=1, errors=f"cannot restore {name}: the container that replaced it still exists\n")
    node.engine.rename(f"{name}.aside", name)
    if again:
        node.engine.start(name, node.now)
    return said()


def file(node: SimulatedNode, words: tuple[Word, ...], stdin: str) -> Result:
    """`file write PATH MODE`, `file read PATH`, `file remove PATH…`, `file remove-folder PATH`, `file dirs PATH…`."""
    verb, paths = str(words[0]), [str(word) for word in words[1:]]
    if verb == "write":
        node.files[paths[0]], node.modes[paths[0]] = stdin, paths[1]
    elif verb == "read":
        return said(node.files.get(paths[0], ""))
    elif verb == "remove":
        for path in paths:
            node.files.pop(path, None)
    elif verb == "remove-folder":
        for path in [one for one in node.files if one.startswith(f"{paths[0]}/")]:
            del node.files[path]
    elif verb == "dirs":
        node.folders.update(paths)
    else:
        return said(code=2, errors=f"unknown verb {verb}\n")
    return said()


def key(node: SimulatedNode, words: tuple[Word, ...], _stdin: str) -> Result:
    text = node.files.get(str(words[0]))
    return said(code=3) if text is None else said(text)


def follow(node: SimulatedNode, words: tuple[Word, ...], _stdin: str) -> Result:
    """`follow NAME TAIL [SINCE]`: all lines so far; they are a second apart."""
    one = node.engine.containers[str(words[0])]
    one.look()
    since = str(words[2]) if len(words) > 2 else ""
    kept = [(time, line) for time, line in one.timed() if time >= since]
    return said("".join(f"{time} {line}\n" for time, line in kept))


def keptlog(node: SimulatedNode, words: tuple[Word, ...], _stdin: str) -> Result:
    """`keptlog DIR NAME|HASH LINES`: when the container of the newest kept log ended, and the log's end."""
    start, end = f"{words[0]}/sparkops-{words[1]}{words[1] and '-'}", f"-{words[1]}.log"
    logs = [path for path in node.files if path.startswith(f"{words[0]}/") and path.endswith(".log")]
    kept = [path for path in logs if path.startswith(start) or path.endswith(end)]
    if not kept:
        return said()
    newest = max(kept, key=lambda path: node.times.get(path, 0.0))
    return said(
        f"{int(EPOCH + node.times.get(newest, 0.0))}\n"
        + "".join(node.files[newest].splitlines(keepends=True)[-int(str(words[2])) :])
    )


def probe(node: SimulatedNode, words: tuple[Word, ...], _stdin: str) -> Result:
    """`probe NAME --api URL [--restarts N]`: whether this node's container is up."""
    name, options = str(words[0]), _options(words[1:])
    one = node.engine.containers.get(name)
    if one is None:
        return said(f"never no container {name}: Error response from daemon: No such container: {name}\n")
    one.look()
    verdict = _part(node, one, options)
    if verdict.startswith("wait") and one.boot.compiles:
        verdict += f"\ncompilers: 20, {one.looks * 40} s of CPU time"
    rebooted = f"{REBOOTED}\n" if one.created < node.booted <= one.started else ""
    return said(f"{verdict}\n{rebooted}{_tail(one, 300 if verdict.startswith('never') else 15)}")


def _part(node: SimulatedNode, one: SimulatedContainer, options: Mapping[str, str]) -> str:
    if one.state == "exited":
        return f"never the container ended with exit code {one.exit_code}"
    if node.answers(options["--api"]):
        return "ready"
    if one.restarts > int(options.get("--restarts", "0")):
        return f"never the engine crashed (exit code {one.exit_code}); Docker is restarting it"
    if one.gave_up:
        return "never the container gave up after repeated failed starts"
    return f"wait the container is {one.state}, its API does not answer yet"


def serving(node: SimulatedNode, words: tuple[Word, ...], _stdin: str) -> Result:
    """`serving --api URL --health PATH --model NAME …`: whether a client gets an answer."""
    options = _options(words)
    one = node.engine.containers.get(options.get("--container", ""))
    if one is not None:
        one.look()
        if one.silent:
            return said(_SILENT[one.silent])
        if one.up and one.boot.refuses:
            return said(f"{_SILENT['answer']}log\n{one.boot.refuses}\n{_tail(one)}")
    if node.answers(options["--api"]) and node.routes(options["--api"], options["--model"]):
        ray = options.get("--ray", "0")
        told = (f"ray {ray} {ray}\n" if ray != "0" else "") + _ranks(node, options)
        return said("ready\nhealth 200\nmodel yes\nanswer ok\n" + told)
    if one is not None and (one.state != "running" or one.restarts > int(options.get("--restarts", "0"))):
        ended = f"{REFUSED.removesuffix(' (still loading?)')}, and its container ended"
        return said(f"never {ended}\nhealth refused\n{_tail(one)}")
    ranks = _ranks(node, options)
    here, wanted = len(ranks.split()) - 1, int(options.get("--ranks", "0"))
    reason = f"{here} of {wanted} ranks are here" if 0 < here < wanted else REFUSED
    return said(f"wait {reason}\nhealth refused\nmodel no\nanswer none\n{ranks}")


REBOOTED = "sparkops: this node rebooted, and Docker started the container again"
REFUSED = "the API is not listening (still loading?)"


def _ranks(node: SimulatedNode, options: Mapping[str, str]) -> str:
    """The evidence line about the ranks of executor mp."""
    head = node.engine.containers.get(options.get("--container", ""))
    if head is None or not head.running or "--ranks" not in options:
        return ""
    return " ".join(["ranks", *map(str, node.met(head))]) + "\n"


_SILENT = {
    "health": "wait the API hangs: it accepts connections and does not answer\nhealth silent\nmodel no\nanswer none\n",
    "answer": "wait /health answers, but a test request got no answer\nhealth 200\nmodel yes\nanswer none\n",
}


def _tail(one: SimulatedContainer, lines: int = 60) -> str:
    return "".join(f"{line}\n" for line in one.log[-lines:])


def peers(node: SimulatedNode, words: tuple[Word, ...], _stdin: str) -> Result:
    """`peers [--hear INTERFACE]… [--ping INTERFACE ADDRESS BYTES]…`: existing nodes answer, all on one switch."""
    texts = [str(word) for word in words]
    known = {one.fabric_address for one in node.neighbours.values()}
    told = "2 packets transmitted, 2 received, 0% packet loss"
    parts = []
    for interface in (texts[at + 1] for at, text in enumerate(texts) if text == "--hear"):
        heard = "\n".join(link_local(one, interface) for one in node.neighbours.values() if one.link)
        parts.append(f"-- 0 {len(heard)} hear {interface}\n{heard}\n")
    for at in (at for at, text in enumerate(texts) if text == "--ping"):
        interface, address, size = texts[at + 1 : at + 4]
        first, second, third, last = address.split(".")
        there = known & {address, f"{first}.{second}.{(int(third) - 128) % 256}.{last}"}
        parts.append(f"-- {0 if there else 1} {len(told)} ping {interface} {address} {size}\n{told}\n")
    return said("sparkops-peers 1\n" + "".join(parts))


def _options(words: tuple[Word, ...]) -> dict[str, str]:
    texts = [str(word) for word in words]
    return dict(zip(texts[::2], texts[1::2], strict=False))


def _tail_file(node: SimulatedNode, words: tuple[Word, ...], _stdin: str) -> Result:
    """`tail -n N PATH`."""
    text = node.files.get(str(words[3]))
    if text is None:
        return said(code=1, errors=f"tail: cannot open '{words[3]}' for reading: No such file or directory\n")
    return said("".join(text.splitlines(keepends=True)[-int(str(words[2])) :]))


def _cat(node: SimulatedNode, words: tuple[Word, ...], stdin: str) -> Result:
    """A file of the node, or the tokenizer of a model that it has."""
    path = str(words[1])
    snapshots = [f"models--{name.replace('/', '--')}/snapshots/{commit}/" for name, commit in node.models.items()]
    if path.endswith("/tokenizer.json") and any(one in path for one in snapshots):
        return said("{}")
    return shell.PROGRAMS["cat"](node, words, stdin)


TAKERS: Mapping[str, copies.Taker] = {"image": copies.take_image, "model": models.take}
STARTERS: Mapping[str, Starter] = {
    "cache": upkeep.work,
    "image": images.work,
    "model": models.work,
    "relay": copies.starter(TAKERS),
}

SCRIPTS: Mapping[str, Handler] = {
    "cache": upkeep.cache,
    "container": container,
    "copy": shell.copy,
    "facts": lambda node, words, _: said(capture(node, [str(word) for word in words])),
    "file": file,
    "follow": follow,
    "image": images.image,
    "job": job(STARTERS),
    "keptlog": keptlog,
    "key": key,
    "manifest": upkeep.manifest,
    "memory": lambda node, words, _: said(f"{node.total_kib} KiB of {words[0]} KiB are available\n"),
    "model": models.model,
    "peers": peers,
    "probe": probe,
    "relay": copies.relay,
    "schedule": upkeep.schedule,
    "serving": serving,
    "sudoers": upkeep.sudoers,
    "switch": upkeep.switch,
    "until": shell.until,
}

COMMANDS: Mapping[str, Handler] = {
    **shell.PROGRAMS,
    "cat": _cat,
    "docker": lambda node, words, _: docker(node.engine, words, node.now),
    "tail": _tail_file,
}

__all__ = ["COMMANDS", "SCRIPTS", "Handler", "said"]
