"""`key` and `key rotate`: the truth about the key is on the front's node."""

from __future__ import annotations

import secrets as random_source
from collections.abc import Mapping

from sparkops.asks import Answer, KeyOptions
from sparkops.commands import scripts
from sparkops.core.facts import Facts
from sparkops.core.situation import Choices, key_path
from sparkops.errors import Refused
from sparkops.phases.kept import compile_rotation
from sparkops.phases.parts import Kept
from sparkops.phases.prepare import API_KEY
from sparkops.phases.sudo import with_sudo
from sparkops.report.report import Report
from sparkops.workflows.chosen import the_one
from sparkops.workflows.run import execute
from sparkops.workflows.session import Session, reached, unreachable


def new_key() -> str:
    return f"sk-{random_source.token_urlsafe(32)}"


def key(options: KeyOptions, report: Report) -> Answer:
    """The key that clients must send; `rotate` puts a new one in force."""
    with reached(options.where, report) as session:
        if options.rotate:
            session.lock(session.nodes)
        facts = session.containers()
        revision = the_one(session, facts, options.deployment)
        if options.rotate:
            return Answer({"key": _rotate(options, session, facts, revision), "rotated": True})
        return Answer({"key": read_key(session, facts, revision)})


def read_key(session: Session, facts: Mapping[str, Facts], revision: Kept) -> str:
    front = revision.stored.fronts[0].name
    if front not in facts:
        raise unreachable(session.away[front])
    if not facts[front].key_digest:
        raise Refused(f"there is no API key on {front}", hint="`sparkops deploy` makes one")
    return session.one(front, scripts.read_key(key_path(facts[front])), "read the API key").strip()


def _rotate(options: KeyOptions, session: Session, facts: Mapping[str, Facts], revision: Kept) -> str:
    """Write the new key wherever the old one is used, then restart what read it at its start."""
    session.require(member.name for member in revision.stored.members)
    new = options.api_key or new_key()
    session.secrets[API_KEY.name] = new
    session.report.hide(new)
    execute(with_sudo(compile_rotation(facts, revision, Choices()), session.sudo), session)
    return new
