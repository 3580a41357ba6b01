"""`gateway logs`: what the endpoint of a fleet answered, started and stopped."""

from sparkops.node_commands import scripts
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.open import opened, selected
from sparkops.verbs.gateway.options import GatewayLogsOptions
from sparkops.verbs.gateway.place import gateway_named
from sparkops.verbs.status.follow import follow
from sparkops.verbs.status.logs import read_logs


def logs(options: GatewayLogsOptions, report: Report) -> Answer:
    """The last lines of its log, or with `follow` new ones as they come."""
    with opened(selected(options.where, report), report) as session:
        found = gateway_named(session, session.what_runs(), options.gateway)
        if options.follow:
            return follow(session, found, options.tail)
        asked = [(node, one.name, scripts.logs(one.name, options.tail)) for node, one in found.parts]
        return Answer({"logs": read_logs(session, asked)}, error=session.away.among(found.nodes).error)
