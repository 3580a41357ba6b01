"""Answers that the gateway gives itself, in the shapes that OpenAI's and Anthropic's clients read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from aiohttp import web

from sparkops.node.gatewaykeys import Denied
from sparkops.node.gatewayroutes import NamedRoute

OPENAI_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error", 500: "api_error"}
ANTHROPIC_TYPES = {**OPENAI_TYPES, 404: "not_found_error", 413: "request_too_large"}


def error(denied: Denied, path: str) -> dict[str, Any]:
    """A refusal as the client of this path reads it."""
    usual = "invalid_request_error" if denied.status < 500 else "api_error"
    if path.startswith("/v1/messages"):
        kind = ANTHROPIC_TYPES.get(denied.status, usual)
        return {"type": "error", "error": {"type": kind, "message": denied.message}}
    kind = OPENAI_TYPES.get(denied.status, usual)
    return {"error": {"message": denied.message, "type": kind, "param": denied.param, "code": str(denied.status)}}


def refusal(denied: Denied, path: str) -> web.Response:
    headers = {} if denied.after is None else {"Retry-After": f"{denied.after:.0f}"}
    return web.json_response(error(denied, path), status=denied.status, headers=headers)


def broken_off(denied: Denied, path: str) -> bytes:
    """The last event of a stream that ends before its time."""
    named = b"event: error\n" if path.startswith("/v1/messages") else b""
    return named + b"data: " + json.dumps(error(denied, path)).encode() + b"\n\n"


def listed(found: Iterable[tuple[NamedRoute, dict[str, Any]]]) -> dict[str, Any]:
    """`/v1/models`: each entry has the fields of both shapes, and whether its deployment is loaded."""
    models = [_model(one) | state for one, state in found]
    ends = {"first_id": models[0]["id"], "last_id": models[-1]["id"]} if models else {}
    return {"object": "list", "data": models, "has_more": False, **ends}


def _model(one: NamedRoute) -> dict[str, Any]:
    openai = {"id": one.name, "object": "model", "created": 0, "owned_by": "sparkops"}
    anthropic = {"type": "model", "display_name": one.served or one.name, "created_at": "1970-01-01T00:00:00Z"}
    return {**openai, **anthropic, "kind": one.kind}
