"""`endpoint`: what a client needs: its variables, and a command or a line of code that uses them."""

from typing import Any, NamedTuple

from sparkops.core.endpoints import api_url
from sparkops.core.impact import service
from sparkops.core.stored import Stored
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.api_key import read_key
from sparkops.session.find_deployment import called, current, find_deployment, front_of
from sparkops.session.find_gateway import gateways_on, shared_front
from sparkops.session.open import opened, selected
from sparkops.verbs.deploy.longer_context import with_more
from sparkops.verbs.status.client_files import file_of
from sparkops.verbs.status.options import Client, EndpointOptions


class Reads(NamedTuple):
    """The variables that a client reads: base URL, key, model; what the base URL ends with; how to use them."""

    base: str
    key: str
    model: str
    path: str = "/v1"
    example: str = ""


OPENAI = Reads("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL")
CLIENTS: dict[Client, Reads] = {
    "openai": OPENAI,
    "claude-code": Reads("ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_MODEL", "", "claude"),
    "open-webui": Reads(
        "OPENAI_API_BASE_URL",
        "OPENAI_API_KEY",
        "DEFAULT_MODELS",
        example="docker run -d -p 3000:8080 -e OPENAI_API_BASE_URL -e OPENAI_API_KEY -e DEFAULT_MODELS "
        "-v open-webui:/app/backend/data ghcr.io/open-webui/open-webui:main",
    ),
    "langchain": Reads(
        "OPENAI_API_BASE",
        "OPENAI_API_KEY",
        "OPENAI_MODEL",
        example='langchain_openai.ChatOpenAI(model=os.environ["OPENAI_MODEL"])',
    ),
    "continue": OPENAI,
    "litellm": OPENAI,
    "curl": OPENAI,
}

REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "chat": ("/chat/completions", {"messages": [{"role": "user", "content": "Hello"}]}),
    "completion": ("/completions", {"prompt": "Hello", "max_tokens": 16}),
    "embedding": ("/embeddings", {"input": "Hello"}),
    "score": ("/score", {"text_1": "Hello", "text_2": "Hi"}),
}
"""A short request by the kind of model: path below the base URL, and body."""

CODING = 32768
"""Least tokens of context with which Claude Code is of use: its prompt and tools alone take above 15000."""

ANY_KEY = "none"
"""What clients send that insist on a key, to a deployment without one."""


def endpoint(options: EndpointOptions, report: Report) -> Answer:
    """The variables that a client needs, and how to use them; for curl a request."""
    with opened(selected(options.where, report), report) as session:
        facts = session.what_runs()
        revision = find_deployment(session, facts, options.deployment)
        stored, reads = revision.stored, CLIENTS[options.client]
        named = called(session, stored, current(facts, session.names))
        if not revision.runs:
            report.warn(f"{revision.title} is stopped; start it: `sparkops start {named}`")
        shared = shared_front(session, facts, revision)
        front = shared or front_of(revision)
        for one in gateways_on(facts, session.names)[:1] if shared is None else ():
            told = f"{one.stored.deployment} does not lead to it now"
            report.note(f"this is the deployment's own address: the endpoint {told}")
        url, key = f"{api_url(front)}{reads.path}", read_key(session, facts, revision) or ANY_KEY
        document: dict[str, Any] = {
            "client": options.client,
            "deployment": stored.deployment,
            "named": named,
            "variables": {reads.base: url, reads.key: key, reads.model: stored.served},
            "api_key": not stored.without_key,
            "example": reads.example,
        }
        if file := file_of(options.client, url, key, stored.served, stored.kind):
            document["file"] = file
        if options.client == "claude-code" and (little := _little_context(stored)):
            report.warn(little)
        if options.client == "curl":
            path, body = REQUESTS.get(stored.kind, REQUESTS["chat"])
            document["request"] = {"path": path, "body": {"model": stored.served, **body}}
        return Answer(document)


def _little_context(stored: Stored) -> str:
    """What to do if the deployment has too little context for Claude Code; empty if it has enough."""
    context = service(stored).context
    if context is None or context >= CODING:
        return ""
    longer = with_more(stored.models[0].model, "cluster" if stored.executor else "solo", CODING - 1)
    how = f"--recipe {longer['recipe']}" if longer else f"--set args.max-model-len={CODING}"
    return f"Claude Code needs about {CODING} tokens of context; this deployment has {context}: deploy it with {how}"
