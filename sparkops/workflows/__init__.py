"""The verbs, each a straight list of calls: load, judge, gather, compile, execute, answer."""

from sparkops.workflows.deploy import deploy, plan
from sparkops.workflows.keys import key
from sparkops.workflows.look import endpoint, facts, logs
from sparkops.workflows.setup import init, trust
from sparkops.workflows.status import status
from sparkops.workflows.stop import rollback, stop

__all__ = ["deploy", "endpoint", "facts", "init", "key", "logs", "plan", "rollback", "status", "stop", "trust"]
