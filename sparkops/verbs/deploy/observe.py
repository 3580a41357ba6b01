"""All that a deploy reads from the nodes before it decides. Later steps use only the frozen situation."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from sparkops.core.condition import REPLACE_SECONDS, ServingProbe, serving_probe
from sparkops.core.facts import Facts, Peers, Unread
from sparkops.core.facts.models import complete
from sparkops.core.impact import loads
from sparkops.core.plan import Result
from sparkops.core.revise import Ports, revise, running_ports
from sparkops.core.revision import Revision
from sparkops.core.situation import Choices, Situation
from sparkops.core.stored import Stored
from sparkops.core.turns import replaced_in_turns
from sparkops.node_commands import scripts
from sparkops.phases.parts import deployed_revisions
from sparkops.phases.parts import question as stored_question
from sparkops.phases.prepare import API_KEY
from sparkops.phases.verify import question
from sparkops.session.api_key import digest, elsewhere, given_keys
from sparkops.session.peers import ask_peers, hears
from sparkops.session.session import Session
from sparkops.verbs.deploy.choose import rechosen
from sparkops.verbs.deploy.draft import Draft, informed, name_of
from sparkops.verbs.deploy.image_flags import with_own_flags
from sparkops.verbs.deploy.options import PlanOptions


def observe(
    options: PlanOptions, session: Session, first: Draft, ports: Ports | None = None
) -> tuple[Draft, Situation]:
    """Read facts, active keys and hanging engines. An API key that is known joins the session's secrets.

    Returns also the draft, judged again with what the nodes found in the image. Raises `Unreachable` for a node of the
    placement that does not answer, `Refused` for a key that cannot be read or by a rule. `ports` are given in place of
    those that are free now.
    """
    read = read_for(session, first)
    first = rechosen(options, first, read)  # another run may have changed what runs where since the first choice
    facts = session.containers(read, but=first.nodes)
    session.require(first.nodes)
    draft = informed(with_own_flags(first, options, session, facts), options, facts)
    if options.alongside and ports is None:
        ports = running_ports(facts, name_of(options, draft))
    return draft, situated(options, session, draft, facts, ports)


def situated(
    options: PlanOptions, session: Session, draft: Draft, facts: Mapping[str, Facts], ports: Ports | None
) -> Situation:
    """The draft with these facts as a situation; raises `Refused` for a key that cannot be read."""
    revision = revise(name_of(options, draft), draft.effective, draft.placement, facts, ports)
    if options.open_access:
        revision = replace(revision, without_key=True)
    key_digest, given = _keys(options, session, facts, revision)
    choices = Choices(options.alongside, options.refresh, options.at_once, options.limits, keep=options.keep)
    known = Situation(revision, draft.effective, draft.placement, facts, key_digest, choices, given=given)
    situation = replace(known, peers=draft.peers or _at_cables(known, session))
    situation = replace(situation, broken=_broken(situation, session), unproven=_unproven(situation, session))
    return replace(situation, mute=_mute(situation, session))


def _at_cables(known: Situation, session: Session) -> Mapping[str, Peers | Unread]:
    """Who is at each cable of a triangle or ring: if two cables are exchanged, its subnets look right all the same."""
    if all(copy.addressed.one_network for copy in known.copies):
        return {}
    return ask_peers(session, hears(known.facts, session.selected))


def read_for(session: Session, draft: Draft, only: Iterable[str] = ()) -> dict[str, Facts]:
    """Read all nodes. If they have different commits of the model, read them again for the head's commit.

    `only` names the probes that are wanted; none: all.
    """
    served, *others = draft.models
    facts = session.facts(images=draft.asked, models=(served, *others), only=only)
    have = {p.node.name: complete(f.model) for p in draft.placement.engines if (f := facts.get(p.node.name))}
    commits = {name: model.revision for name, model in have.items() if model}
    pinned = commits.get(draft.placement.head.node.name)
    if pinned is None or set(commits.values()) == {pinned}:
        return facts
    again = (f"{draft.effective.model}@{pinned}", *others)
    return facts | session.facts(images=draft.asked, models=again, only=only)


def _keys(
    options: PlanOptions, session: Session, facts: Mapping[str, Facts], revision: Revision
) -> tuple[str, Mapping[tuple[str, str], str]]:
    """Return the digest of the key to use, and those of keys that containers got from another user's file."""
    if revision.without_key:
        return "", {}
    telling = elsewhere(facts, revision)
    texts = given_keys(session, telling)
    primary = revision.fronts[0].name
    if key := options.api_key or texts.get(primary):
        session.secrets[API_KEY.name] = key
    given = {(node, telling[node].key_file or ""): digest(text) for node, text in texts.items()}
    return digest(key) if key else facts[primary].key_digest or "new", given


def _broken(situation: Situation, session: Session) -> frozenset[str]:
    """Return the nodes whose engine of this revision runs but hangs; it is replaced at once."""
    members = [m for m in situation.revision.engines if m.port is not None and situation.todo(m) == "keep"]
    asked = session.ask({m.name: scripts.serving(question(situation, m), REPLACE_SECONDS) for m in members})
    return frozenset(name for name, one in asked.items() if isinstance(one, Result) and serving_probe(one.stdout).hangs)


def _unproven(situation: Situation, session: Session) -> frozenset[str]:
    """Return the hashes of replaced revisions that a cut-off run may have begun and that never came up.

    Not of one with a stopped container or with the note of a deploy that ended well, nor if nothing older is kept.
    """
    cut = {(name, node) for run in session.cut_off for name in run.may_have_begun for node in run.nodes}
    replaced = {stored.hash: stored for _, stored, _ in situation.replaced}
    doubtful = {it for it, one in replaced.items() if {(one.deployment, m.name) for m in one.members} & cut}
    doubtful -= {load.revision for known in situation.facts.values() for load in loads(known)}
    everything = deployed_revisions(situation.facts)
    doubtful -= {one.stored.hash for one in everything if one.kept}
    kept = {node for one in everything if not one.runs and one.complete for node, _ in one.parts}
    doubtful = {it for it in doubtful if kept.intersection(member.name for member in replaced[it].members)}
    return frozenset(it for it in doubtful if not _came_up(replaced[it], situation.facts, session))


def _mute(situation: Situation, session: Session) -> frozenset[str]:
    """Return the nodes whose replaced server does not answer, if its copies are replaced one after the other."""
    before = replaced_in_turns(situation)
    if before is None:
        return frozenset()
    answer = {node for node, one in _heard(before, situation.facts, session).items() if one.serves}
    return frozenset(one.name for one in before.engines if one.port is not None) - answer


def _came_up(stored: Stored, facts: Mapping[str, Facts], session: Session) -> bool:
    """Whether an engine listens: it does so once the model is loaded."""
    return any(not one.coming for one in _heard(stored, facts, session).values())


def _heard(stored: Stored, facts: Mapping[str, Facts], session: Session) -> dict[str, ServingProbe]:
    """What the engines of a revision answer, by node; without those that are not reached."""
    engines = [one for one in stored.engines if one.port is not None and one.name in facts]
    questions = {one.name: scripts.serving(stored_question(facts, stored, one), REPLACE_SECONDS) for one in engines}
    told = session.ask(questions)
    return {node: serving_probe(one.stdout) for node, one in told.items() if isinstance(one, Result)}
