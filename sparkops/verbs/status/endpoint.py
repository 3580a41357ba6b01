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


def endpoint(options: EndpointOptions, report: Report) -> Answer:
    """The variables that a client needs."""
    with opened(selected(options.where, report), report) as session:
        facts = session.what_runs()
        revision = find_deployment(session, facts, options.deployment)
        base, token, model, path = VARIABLES[options.client]
        url = f"{api_url(front_of(revision))}{path}"
        variables = {base: url, token: read_key(session, facts, revision), model: revision.stored.served}
        return Answer({"client": options.client, "variables": variables})
