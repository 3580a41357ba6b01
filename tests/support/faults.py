"""Faults of nodes, and what is said of them."""

ALERTS = {
    "link-100g": "link-slow",
    "gpu-wedged": "gpu-clock",
    "page-cache-full": "page-cache",
    "memory-leaks": "memory-runs-out",
    "cron-dead": "cache-schedule",
    "unreachable": "node-away",
    "node-hangs": "node-away",
}
"""What `watch` says of each fault of a node on which nothing runs."""
