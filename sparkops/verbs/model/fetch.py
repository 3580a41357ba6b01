"""`model fetch`: download on one node, then copy to all."""

import ipaddress
import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from sparkops.core import vocabulary
from sparkops.core.copying import COPY_STALL
from sparkops.core.facts import Facts
from sparkops.core.facts.models import Model, complete
from sparkops.core.hub_access import Access
from sparkops.core.model_name import ModelName, model_name
from sparkops.errors import Refused
from sparkops.node_commands.models import Fetch
from sparkops.phases.images import running
from sparkops.phases.models import ASK, compile_fetch
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.open import connected, selected
from sparkops.session.session import Session
from sparkops.verbs.model.copy import ensure_copied
from sparkops.verbs.model.list import follow, results
from sparkops.verbs.model.options import FetchOptions


def fetch(options: FetchOptions, report: Report) -> Answer:
    name = model_name(options.model)
    want = Fetch(name, options.exclude, options.offline, vocabulary.usual(name.model))
    chosen = selected(options.where, report)
    with connected(chosen, report) as session:
        document = ensure_fetched(session, want, options.access, options.node, stall=options.stall)
        return session.answer(document)


def ensure_fetched(
    session: Session,
    want: Fetch,
    access: Access,
    node: str | None = None,
    names: Sequence[str] = (),
    stall: float = COPY_STALL,
) -> dict[str, Any]:
    """Get the model on these nodes (none: the selected ones that answer), verify every file; raises on failure."""
    facts = session.facts(models=[str(want.name)])
    here = names or [one.name for one in session.selected if one.name in facts]
    if not here and session.lost.error:
        raise session.lost.error
    source = _source(session, want, facts, here, node)
    here = tuple(dict.fromkeys((*here, source)))
    if want.job in running(facts[source]):
        session.report.note(f"the job {want.job} already runs; following it", source)
    session.report.hide(access.token)
    session.secrets[ASK.name] = json.dumps(asking(access, session.nodes[source].address))
    follow(compile_fetch(want, source, session.nodes[source].cache_dir, facts[source]), session, want.job)
    got = results(session, [source], want.job)[source]
    have = ModelName(want.name.model, "" if want.name.local else got["revision"])
    copied = ensure_copied(session, have, source, here, want.vocabulary, stall)
    return {
        "model": want.name.model,
        "revision": got["revision"],
        "changed": bool(got["fetched"] or copied),
        "size_bytes": got["bytes"],
        "source": source,
        "nodes": [
            {"name": name, "fetched": got["fetched"] if name == source else 0, "copied": copied.get(name, 0)}
            for name in here
        ],
    }


def _source(session: Session, want: Fetch, facts: Mapping[str, Facts], here: Sequence[str], node: str | None) -> str:
    """Return the node that downloads: the named one, one that does already, one that has it, else the first.

    Raises Refused for a directory that no such node has.
    """
    if node is not None:
        session.require([session.inventory.node(node).name])
    busy = [name for name in here if want.job in running(facts[name])]
    have = [name for name in here if complete(facts[name].model)]
    found = [node] if node else [*busy, *have, *here]
    if want.name.local:
        found = [name for name in found if isinstance(model := facts[name].model, Model) and model.files]
    if not found:
        text = f"{node or 'no node'} has {'no' if node else 'the'} directory {want.name.model}, or it is empty"
        raise Refused(
            text, node=node, hint="copy the directory to one node, then run this again: `--on` names the node"
        )
    return found[0]


def asking(access: Access, address: str) -> dict[str, Any]:
    """Return the hub settings for a node, without proxies on this machine's loopback."""
    near = ipaddress.ip_address(address).is_loopback
    proxies = {name: value for name, value in access.proxies.items() if near or not _loopback(value)}
    given = {"token": access.token, "endpoint": access.endpoint, "proxies": proxies, "encodings": access.encodings}
    return {key: value for key, value in given.items() if value}


def _loopback(proxy: str) -> bool:
    host = urlsplit(proxy if "//" in proxy else f"//{proxy}").hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
