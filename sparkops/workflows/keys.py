"""`key` and `key rotate`: the truth about the key is on the front's node."""

from __future__ import annotations

import secrets as random_source
from collections.abc import Mapping

from sparkops.asks import Answer, KeyOptions
from sparkops.commands import scripts
from sparkops.core.facts import Facts
from sparkops.core.situation import Choices, key_path
from sparkops.errors import Refused
from sparkops.phases.kept import OLD_KEY, compile_rotation
from sparkops.phases.parts import Kept
from sparkops.phases.prepare import API_KEY
from sparkops.phases.sudo import with_sudo
from sparkops.report.report import Report
from sparkops.workflows.chosen import front_of, ours_to_change, the_one
from sparkops.workflows.run import execute
from sparkops.workflows.session import Session, reached


def new_key() -> str:
    return f"sk-{random_source.token_urlsafe(32)}"


def key(options: KeyOptions, report: Report) -> Answer:
    """The key that clients must send; `rotate` puts a new one in force."""
    with reached(options.where, report) as session:
        return key_on(options, session)


def key_on(options: KeyOptions, session: Session) -> Answer:
    """The same over a session that is open."""
    if options.rotate:
        session.lock(node.name for node in session.selected)
    facts = session.containers()
    revision = the_one(session, facts, options.deployment)
    if options.rotate:
        return Answer({"key": _rotate(options, session, facts, revision), "rotated": True})
    return Answer({"key": read_key(session, facts, revision)})


def read_key(session: Session, facts: Mapping[str, Facts], revision: Kept) -> str:
    front = front_of(revision).name
    session.require([front])
    if not facts[front].key_digest:
        raise Refused(f"there is no API key on {front}", hint="`sparkops deploy` makes one")
    return session.one(front, scripts.read_key(key_path(facts[front])), "read the API key").strip()


def _rotate(options: KeyOptions, session: Session, facts: Mapping[str, Facts], revision: Kept) -> str:
    """Write the new key wherever the old one is used, then restart what read it at its start."""
    session.require(member.name for member in revision.stored.members)
    ours_to_change([revision.stored])
    session.lock(member.name for member in revision.stored.members)
    new = options.api_key or new_key()
    session.secrets[API_KEY.name] = new
    had_one = facts[front_of(revision).name].key_digest
    session.secrets[OLD_KEY.name] = read_key(session, facts, revision) if had_one else new
    session.report.hide(*session.secrets.values())
    execute(with_sudo(compile_rotation(facts, revision, Choices()), session.sudo), session)
    return new
