"""What deployments, their ranks and their engines tell, and what is wrong, as metrics."""

from collections.abc import Callable, Iterator, Sequence
from typing import get_args

from sparkops.core.condition import State
from sparkops.core.energy import LEFT_OUT
from sparkops.core.watch.deployment import Rank, WatchedDeployment
from sparkops.core.watch.engine import KV_USE
from sparkops.core.watch.exported import MOST, Exported, Value
from sparkops.core.watch.picture import Picture


def _deployments(read: Callable[[WatchedDeployment], float | None]) -> Callable[[Picture], Iterator[Value]]:
    return lambda shown: (((one.name,), read(one)) for one in shown.deployments[:MOST])


def _ranks(read: Callable[[Rank], float | None]) -> Callable[[Picture], Iterator[Value]]:
    return lambda shown: (
        ((one.name, rank.node.name, rank.member.role), read(rank) if shown.tells(rank.node.name) else None)
        for one in shown.deployments[:MOST]
        for rank in one.ranks[:MOST]
    )


def _engines(counter: str) -> Callable[[Picture], Iterator[Value]]:
    """What each engine counts, whose names stand in `core/watch/engine.py`."""
    return _ranks(lambda rank: rank.engine.counters.get(counter) if rank.engine else None)


def _states(shown: Picture) -> Iterator[Value]:
    for one in shown.deployments[:MOST]:
        yield from (((one.name, state), float(one.state == state)) for state in get_args(State))


def _alerts(shown: Picture) -> Iterator[Value]:
    for one in shown.alerts[:MOST]:
        yield (one.id, "critical" if one.grave else "warning", one.node, one.deployment), 1.0


RANK = ("deployment", "node", "role")

DEPLOYMENT_METRICS: Sequence[Exported] = (
    Exported("sparkops_deployment_state", "1 for the state that a deployment has.", ("deployment", "state"), _states),
    Exported("sparkops_deployment_joules_per_token", f"Energy for each generated token lately: {LEFT_OUT}.",
             ("deployment",), _deployments(lambda one: one.joules_per("written"))),
    Exported("sparkops_deployment_joules_per_request", f"Energy for each request lately: {LEFT_OUT}.",
             ("deployment",), _deployments(lambda one: one.joules_per("done"))),
    Exported("sparkops_rank_up", "Whether the container of a rank runs.", RANK,
             _ranks(lambda rank: float(rank.part.up))),
    Exported("sparkops_rank_boot_ratio", "How far a rank is with its boot.", RANK,
             _ranks(lambda rank: rank.phase.percent / 100 if rank.phase else None)),
    Exported("sparkops_rank_restarts_total", "How often Docker restarted the container.", RANK,
             _ranks(lambda rank: float(rank.seen.restarts) if rank.seen else None), "counter"),
    Exported("sparkops_engine_stuck_seconds", "Time for which an engine with requests did nothing.", RANK,
             _ranks(lambda rank: rank.pace.stuck if rank.engine and rank.engine.counters else None)),
    Exported("sparkops_engine_requests_running", "Requests that run.", RANK, _engines("num_requests_running")),
    Exported("sparkops_engine_requests_waiting", "Requests that wait.", RANK, _engines("num_requests_waiting")),
    Exported("sparkops_engine_requests_done_total", "Requests that ended, also those that failed.", RANK,
             _engines("request_success_total"), "counter"),
    Exported("sparkops_engine_requests_failed_total", "Requests that ended with an error or were cut off.", RANK,
             _engines("failed_requests"), "counter"),
    Exported("sparkops_engine_generated_tokens_total", "Tokens that were generated.", RANK,
             _engines("generation_tokens_total"), "counter"),
    Exported("sparkops_engine_prompt_tokens_total", "Tokens of prompts that were read.", RANK,
             _engines("prompt_tokens_total"), "counter"),
    Exported("sparkops_engine_kv_cache_usage_ratio", "Use of the KV cache.", RANK, _engines(KV_USE)),
    Exported("sparkops_alert", "What is wrong now.", ("alert", "severity", "node", "deployment"), _alerts),
)  # fmt: skip
