"""One word for a deployment, from what its parts and its APIs said."""

from __future__ import annotations

import pytest

from sparkops.core.condition import Heard, Part, condition

READY = Heard("ready", health="200", answer="ok")
LOADS = Heard("wait", health="refused")
MUTE = Heard("wait", health="200")
"""It listens and nobody gets an answer: an engine that hangs, or a proxy before its servers."""
SILENT = Heard("wait", health="silent")
UP = (Part("node1", "server", True, "a", "running"), Part("node2", "server", True, "b", "running"))


@pytest.mark.parametrize(
    ("fronts", "engines", "word"),
    [
        ([READY], [READY, READY], "serving"),
        ([READY], [READY, LOADS], "degraded"),
        ([MUTE], [LOADS, LOADS], "starting"),
        ([MUTE], [READY, LOADS], "starting"),
        ([LOADS], [LOADS], "starting"),
        ([LOADS], [], "starting"),
        ([MUTE], [READY, READY], "failed"),
        ([MUTE], [LOADS, SILENT], "failed"),
        ([MUTE], [], "failed"),
    ],
)
def test_what_answers_decides(fronts, engines, word):
    assert condition(UP, fronts, engines) == word
