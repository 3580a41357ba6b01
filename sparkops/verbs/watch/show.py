"""Answer of `watch --once`: nodes, deployments, and what is wrong."""

from collections.abc import Iterator

from sparkops.core.sizes import kib_text
from sparkops.report.text import Document, How, Ink, columns


def watch(document: Document, ink: Ink, how: How) -> Iterator[str]:
    if document.get("nodes"):
        yield from columns(
            [["node", "memory used", "page cache", "GPU", "power", "link"], *map(_node, document["nodes"])]
        )
    if document.get("deployments"):
        yield ""
        heads = ["deployment", "state", "ranks", "tokens/s out", "in", "running", "waiting"]
        yield from columns([heads, *map(_deployment, document["deployments"])])
    for one in document.get("alerts", ()):
        where = one["node"] or one["deployment"]
        paint = ink.bad if one["grave"] else ink.warn
        yield paint(f"{where}: {one['text']}")
        yield f"  {how.again(one['next'])}"


def _node(node: Document) -> list[object]:
    if node["problem"]:
        return [node["name"], node["problem"], *[None] * 4]
    memory, gpu, traffic = node["memory"], node["gpu"] or {}, node["bits_per_second"]
    used = f"{kib_text(memory['total_kib'] - memory['available_kib'])} of {kib_text(memory['total_kib'])}"
    load = f"{gpu['utilization_percent']} % {gpu['clock_mhz']} MHz" if gpu else None
    watts = f"{gpu['power_watts']:.0f} W" if gpu.get("power_watts") is not None else None
    link = f"{(traffic['received'] + traffic['sent']) / 1e9:.1f} Gb/s" if traffic else None
    return [node["name"], used, kib_text(memory["page_cache_kib"]), load, watts, link]


def _deployment(one: Document) -> list[object]:
    up = sum(rank["state"] == "running" for rank in one["ranks"])
    speed, requests = one["tokens_per_second"], one["requests"]
    rates = [None if speed[key] is None else f"{speed[key]:.1f}" for key in ("written", "read")]
    return [one["name"], one["state"], f"{up} of {len(one['ranks'])}", *rates, requests["running"], requests["waiting"]]
