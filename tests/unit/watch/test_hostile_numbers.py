"""Whatever number a node tells, and whatever text where a number belongs: everything is drawn, nothing ends."""

import json
import re

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from sparkops.core.facts.raw import read, write
from sparkops.core.watch.document import document
from sparkops.core.watch.frame import frame
from sparkops.core.watch.node import heard
from sparkops.core.watch.picture import picture
from sparkops.report.text import How, Ink
from sparkops.verbs.status import warnings
from sparkops.verbs.watch import show
from sparkops.verbs.watch.chart import PLAIN
from sparkops.verbs.watch.page import drawn, rows_of
from sparkops.verbs.watch.view import PAGES, View
from sparkops.verbs.web.history import HOUR, PageHistory
from sparkops.verbs.web.hub import PageHub
from support.exporter import answer
from support.frames import HASH, a_deployment, container_line, engine_text, frame_text, watched_node

HEAD = f"sparkops-chat-head-{HASH[:8]}"
COUNTERS = {
    "num_requests_running": 1,
    "num_requests_waiting": 1,
    "kv_cache_usage_perc": 0.5,
    "generation_tokens_total": 7,
    "spec_decode_num_draft_tokens_total": 9,
    "spec_decode_num_accepted_tokens_total": 5,
    "request_success_total": 3,
}
DROPS = "".join(
    f"{1000 + 1800 * n} x page cache dropped (all): MemFree 9 -> 9, MemAvailable 9 -> 9, Cached 1 -> 1 KiB\n"
    for n in range(4)
)
DISK = (
    "home /h\ncache /c\ndocker /d\nFilesystem 1024-blocks Used Available Capacity Mounted on\n"
    + "/dev/a 99 9 90 9% /\n" * 3
)
TEXTS = [
    frame_text(
        uptime=uptime,
        engines={HEAD: engine_text(**COUNTERS)},
        containers=[container_line(HEAD, role="head", restarts=1)],
        link=("4: ACTIVE", "200 Gb/sec (4X HDR)", 1000, 1000),
        gpu_processes="123, python3, 4096 MiB",
        stall="./cpu:some avg10=1.00 avg60=0.00 avg300=0.00 total=5",
        clock="1795896080.60\nsynchronized=yes",
        drops=DROPS,
        disk=DISK,
    )
    for uptime in (100.0, 102.0)
]
NUMBER = re.compile(r"\d+(?:\.\d+)?")
ODD = (
    "9" * 400,
    "9" * 5000,
    "1e308",
    "-1",
    "nan",
    "inf",
    "0",
    "-0",
    "1e-320",
    "18446744073709551616",
    "",
    "\x1b[2J",
    "٣",
)


@st.composite
def odd_texts(draw: st.DrawFn) -> list[str]:
    """Both frames with the same one number, or all of a probe, replaced."""
    odd, found = draw(st.sampled_from(ODD)), read(TEXTS[0])
    name = draw(st.sampled_from([probe for probe, one in found.items() if NUMBER.search(one.text)]))
    count = len(NUMBER.findall(found[name].text))
    at = draw(st.integers(0, count))
    return [_with(text, name, at, odd) for text in TEXTS]


def _with(text: str, name: str, at: int, odd: str) -> str:
    """`at` 0: all numbers; else that one."""
    numbers = iter(range(1, 10_000))
    probes = {probe: (one.exit, one.text) for probe, one in read(text).items() if probe != "end"}
    changed = NUMBER.sub(lambda number: odd if at in (0, next(numbers)) else number[0], probes[name][1])
    return write(probes | {name: (0, changed)})


VIEWS = [
    *(View(page) for page in PAGES),
    *(View(opened=one) for one in (("node", "spark1"), ("deployment", HASH), ("keys", ""))),
]


@given(odd_texts())
def test_every_screen_and_document_survives_odd_numbers(texts):
    node = watched_node(*(frame(text) for text in (*TEXTS, *texts)))
    shown = picture(9.0, {"spark1": heard(node, frame(TEXTS[0]), 8.0)}, [a_deployment()])
    assert node.frame is not None
    list(warnings.of_node("spark1", node.frame, ""))
    for picture_of in (shown, picture(9.0, {"spark1": node}, [a_deployment()])):
        told = json.loads(json.dumps(document(picture_of)))
        assert list(show.watch(told, Ink(), How()))
        assert list(text_string_to_metric_families(answer(picture_of)))
        hub, history = PageHub(), PageHistory()
        hub.show(picture_of)
        history.add(picture_of, 1.0)
        assert json.loads(hub.since(0)[1])["order"]
        json.dumps([history.of(name, HOUR, 1.0) for name in ("spark1", "deployment/chat")], allow_nan=False)
        for view in VIEWS:
            assert len(drawn(view, picture_of, rows_of(view, picture_of, PLAIN), (80, 24), "12:00:00", "")) == 24
