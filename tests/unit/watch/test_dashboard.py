"""What `monitor dashboard` prints is a dashboard by Grafana's own schema."""

import json
from typing import Any

import pytest

from sparkops.core.watch.dashboard import document

dashboard = pytest.importorskip("grafana_foundation_sdk.models.dashboard")


def lost(ours: Any, theirs: Any, at: str = "") -> list[str]:
    """Where a document of ours has what Grafana's reading of it has not."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [one for key, value in ours.items() for one in lost(value, theirs.get(key), f"{at}.{key}")]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return [one for n, pair in enumerate(zip(ours, theirs, strict=True)) for one in lost(*pair, f"{at}[{n}]")]
    return [] if ours == theirs else [at]


def test_grafana_knows_every_key_and_value():
    from grafana_foundation_sdk.cog.encoder import JSONEncoder
    from grafana_foundation_sdk.cog.plugins import register_default_plugins

    register_default_plugins()
    told = document()
    read = json.loads(JSONEncoder().encode(dashboard.Dashboard.from_json(told)))
    assert lost(told, read) == []
    assert lost({**told, "titel": "x"}, read) == [".titel"]


def test_panels_do_not_overlap():
    places = [panel["gridPos"] for panel in document()["panels"]]
    cells = [(x, y) for one in places for x in range(one["x"], one["x"] + one["w"]) for y in (one["y"],)]
    assert len(set(cells)) == len(cells)
    assert all(one["x"] + one["w"] <= 24 for one in places)
