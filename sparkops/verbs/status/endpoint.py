"""`endpoint`: the variables that a client needs."""

from sparkops.core.endpoints import api_url
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.api_key import read_key
from sparkops.session.find_deployment import find_deployment, front_of
from sparkops.session.open import opened, selected
from sparkops.verbs.status.options import EndpointOptions

VARIABLES = {
    "openai": ("OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL", "/v1"),
    "claude-code": ("ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_MODEL", ""),
}
"""Which variables a client reads: base URL, key, model, and what the base URL ends with."""

ANY_KEY = "none"
"""What clients send that insist on a key, to a deployment without one."""


def endpoint(options: EndpointOptions, report: Report) -> Answer:
    """The variables that a client needs."""
    with opened(selected(options.where, report), report) as session:
        facts = session.what_runs()
        revision = find_deployment(session, facts, options.deployment)
        base, token, model, path = VARIABLES[options.client]
        url = f"{api_url(front_of(revision))}{path}"
        sent = read_key(session, facts, revision) or ANY_KEY
        variables = {base: url, token: sent, model: revision.stored.served}
        with_key = not revision.stored.without_key
        return Answer({"client": options.client, "variables": variables, "api_key": with_key})
