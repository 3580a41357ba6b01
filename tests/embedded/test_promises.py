"""What scripts and nodes rely on: documents, exit codes, plan ids, hashes, labels and run logs of a table of commands.

Each line of `promises.txt` that begins with `$` is typed behind `sparkops`, with `--json`, over a lab that has the same
addresses and paths each time. `$~` shows only the keys, where values differ from run to run; a long document is shown
by its keys and a digest. `?` looks at the nodes or at this machine. To add a line, write it and run the test with
SPARKOPS_GOLDEN=write.
"""

import fcntl
import hashlib
import json
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from itertools import takewhile
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from support import golden
from support.person import Ran

PLACE = Path("/tmp/sparkops-promises")  # in hashes and plan ids, as it lies in the nodes' paths
OCTET = "19"  # no lab takes it by chance
WRONG = ("error: ", "cause: ", "next: ", "warning: ")
LONG = 60
ASSIGNED = re.compile(r"[A-Z_]+=")
STEADY = (
    (r"sk-[\w-]{20,}", "sk-KEY"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[\d.]*(Z|\+00:00)?", "TIME"),
    (r"\d{8}T\d{6}Z-([a-z-]+)-[0-9a-f]{8}", r"RUN-\1"),
    (r'("(?:run|container_id)": )"[0-9a-f]+"', r'\1"ID"'),
    (r'("(?:seconds|at|pid|age_seconds|uptime_seconds)": )[\d.]+', r"\g<1>0"),
    (r"\d{4}-\d\d-\d\d", "DAY"),
    (r"SHA256:[\w+/]{43}", "SHA256:KEY"),
    (r"pid=\d+\) (\w+) [\d-]+ [\d:]+", r"pid=0) \1 TIME"),
    (r'"tail": ".*"', '"tail": "LINES"'),
    (r"spark-[0-9a-f]{4}\b", "spark-HOST"),
)


@pytest.fixture
def lab(lab_in: Callable[[Path], Any]) -> Iterator[Any]:
    with open(f"{PLACE}.lock", "w", encoding="utf-8") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)  # another run on this machine has the place
        one = lab_in(PLACE)
        one.down()
        shutil.rmtree(PLACE, ignore_errors=True)
        PLACE.mkdir()
        one.up(SPARKLAB_OCTET=OCTET)
        yield one
        one.down()
        shutil.rmtree(PLACE)


def test_what_is_promised_stays(lab: Any) -> None:
    path = Path(__file__).with_name("promises.txt")
    typed = [line for line in path.read_text(encoding="utf-8").splitlines() if line[:1] in {*"$!?#"}]
    golden.hold(path, "".join(after(lab, line) for line in typed))


def after(lab: Any, line: str) -> str:
    """The line and what came of it."""
    kind, _, rest = line.partition(" ")
    words = shlex.split(rest)
    if kind == "!":
        lab.fault(*words[:2], off="off" in words)
    came = {"$": typed, "$~": outlined, "?": seen}.get(kind, lambda *_: "")(lab, *words)
    return f"{line}\n{indent(steady(came), '    ')}"


def typed(lab: Any, *words: str) -> str:
    ran, sent = asked(lab, *words)
    digest = f"sha256 {hashlib.sha256(steady(ran.out).encode()).hexdigest()}\n"
    text = next((text for text in (ran.out, keys(ran) + digest) if len(text.splitlines()) <= LONG), digest)
    return ended(ran) + text + sent


def outlined(lab: Any, *words: str) -> str:
    ran, sent = asked(lab, *words)
    return ended(ran) + keys(ran) + sent


def asked(lab: Any, *words: str) -> tuple[Ran, str]:
    lab.mark()
    env = dict(word.split("=", 1) for word in takewhile(ASSIGNED.match, words))
    words = words[len(env) :]
    place = words.index("--") if "--" in words else len(words)
    ran = lab.cli(*words[:place], "--json", *words[place:], **env)
    return ran, "".join(f"> {one.node} {one.shown}\n" for one in lab.changed())


def ended(ran: Ran) -> str:
    return "".join(
        f"{line}\n" for line in [f"[exit {ran.code}]", *ran.err.splitlines()] if line.startswith(("[", *WRONG))
    )


def keys(ran: Ran) -> str:
    return "".join(f"{path}\n" for path in dict.fromkeys(paths(ran.document)))


def paths(value: Any, at: str = "") -> Iterator[str]:
    """Each key of a document with the keys above it and the kind of its value."""
    if isinstance(value, dict) and value:
        for key, one in value.items():
            yield from paths(one, f"{at}.{key}".lstrip("."))
    elif isinstance(value, list) and value:
        for one in value:
            yield from paths(one, f"{at}[]")
    else:
        yield f"{at}: {type(value).__name__}"


def seen(lab: Any, what: str) -> str:
    return "".join(f"{line}\n" for line in {"labels": labels, "runs": runs}[what](lab))


def labels(lab: Any) -> Iterator[str]:
    for node, name in sorted(lab.containers()):
        shown = json.loads(lab.on(node, "docker", "inspect", "--format", "{{json .Config.Labels}}", name))
        yield f"{node} {name}"
        yield from (f"  {key}={value}" for key, value in sorted(shown.items()))


def runs(lab: Any) -> Iterator[str]:
    """The events of each run log with their keys."""
    logs = sorted((lab.home / "state").rglob("*.jsonl"), key=lambda path: path.stat().st_mtime)
    for path in logs:
        events = [json.loads(line) for line in path.read_text().splitlines()]
        yield path.name
        yield from sorted({f"  {one.get('event')}: {' '.join(sorted(one))}" for one in events})


def steady(text: str) -> str:
    for pattern, put in STEADY:
        text = re.sub(pattern, put, text)
    return text
