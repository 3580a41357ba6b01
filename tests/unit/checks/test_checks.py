"""The registry, what two waves ask, and verdicts that no capture can hold."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from sparkops.checks import CHECKS, access, chosen, findings, judged
from sparkops.checks.check import CannotTell, Check, Here, Said, fail, read, warn
from sparkops.checks.docker import names_free
from sparkops.checks.driver import Cures, parity
from sparkops.checks.fabric_links import targets
from sparkops.checks.image import ray
from sparkops.checks.ports import wanted_ports
from sparkops.checks.rdma import gids
from sparkops.checks.tested import tested_stack
from sparkops.cli.registry import COMMANDS
from sparkops.core.facts import PROBES, Container, Image, Unread
from sparkops.core.images import Software
from sparkops.core.recipe import ValidatedStack
from sparkops.core.situation import Situation
from sparkops.errors import UsageError
from sparkops.phases.fix import FIXES, fixes
from sparkops.verbs.preflight import missing_images
from support.paths import ROOT

DOCS = ROOT / "docs" / "reference" / "preflight.md"


def test_ids_are_words_of_their_own_and_each_check_names_probes_and_verbs_that_there_are() -> None:
    ids = [check.id for check in CHECKS]
    assert len(set(ids)) == len(ids)
    for check in CHECKS:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", check.id)
        assert all((check.title, check.why, check.source, check.hint, check.reads))
        assert (check.each is None) != (check.together is None)
        assert not set(check.reads) - set(PROBES), check.id
        assert not set(re.findall(r"\bsparkops ([a-z]+)", check.hint)) - set(COMMANDS), check.id


def test_a_check_says_that_it_is_mended_where_there_are_steps_for_it() -> None:
    assert {*FIXES, missing_images.CHECK} == {check.id for check in CHECKS if check.fixable}


@pytest.mark.skipif(not DOCS.exists(), reason="the docs are not in the wheel")
def test_the_page_lists_every_check_with_its_severity() -> None:
    rows = re.findall(r"^\| \[([a-z0-9-]+)\]\(#[a-z0-9-]+\) \| (fail|warn) \| ([^|]+) \|", DOCS.read_text(), re.M)
    assert [(name, severity, title.strip()) for name, severity, title in rows] == [
        (check.id, check.severity, check.title) for check in CHECKS
    ]


def test_an_index_that_the_recipe_sets_is_held_against_the_devices_tables(situated: Callable[..., Situation]) -> None:
    s = situated(nodes={"spark1": "healthy-fe", "spark2": "healthy-fe"}, topology="cluster")
    named = [replace(s, effective=replace(s.effective, env={"NCCL_IB_GID_INDEX": index})) for index in ("3", "5", "-1")]
    assert [set(_statuses(gids, one)) for one in named] == [{"pass"}, {"fail", "pass"}, {"pass"}]


def test_evidence_names_all_that_differ_and_a_few_of_those_that_agree() -> None:
    values = {f"node{at}": "580.95.05" if at in (3, 5, 7, 9, 11) else "580.142" for at in range(1, 13)}
    (said,) = parity("the driver", values, Cures("update it"))
    assert (
        said.message
        == "the driver differs: 580.142 on node1, node2, node4 and 4 more; 580.95.05 on node3, node5, node7 and 2 more"
    )
    assert said.evidence == "580.142: node1, node2, node4 and 4 more; 580.95.05: node3, node5, node7, node9, node11"


def test_only_and_skip_choose_and_name_the_nearest_of_what_there_is_not() -> None:
    assert [check.id for check in chosen(("uptime", "swap"), ("swap",))] == ["uptime"]
    assert len(chosen((), ("swap",))) == len(CHECKS) - 1
    with pytest.raises(UsageError, match=r"no such check: memory-fit \(did you mean memory-fits\?\)"):
        chosen((), ("memory-fit",))


def test_the_worst_of_what_a_judge_says_is_the_verdict(situated: Callable[..., Situation]) -> None:
    def judge(_here: Here) -> list[Said]:
        return [warn("a little", "mend it"), fail("a lot", evidence="seen"), Said("pass", "", "", "also seen")]

    found = _judged(situated, judge)
    assert (found.status, found.message, found.hint) == ("fail", "a lot; a little", "mend it")
    assert found.evidence == "seen; also seen"


def test_what_cannot_be_read_is_skipped_with_its_reason_and_hides_no_failure(
    situated: Callable[..., Situation],
) -> None:
    def unread(_here: Here) -> Any:
        yield Said("pass")
        read(Unread("no answer"), "the clock")

    def after_a_failure(_here: Here) -> Any:
        yield fail("a lot")
        raise CannotTell("more")

    assert (_judged(situated, unread).status, _judged(situated, unread).message) == ("skip", "the clock: no answer")
    assert _judged(situated, after_a_failure).status == "fail"


def _judged(situated: Callable[..., Situation], judge: Any) -> Any:
    check = Check("x", "x", "x", "x", "x", ("clock",), "fail", each=judge)
    known = situated({"spark1": "healthy-fe"})
    return judged(known, known.placement.nodes, [check])[0]


def _statuses(check: Check, of: Any) -> list[str]:
    judge: Any = check.each or check.together
    return [said.status for said in judge(of)]


def test_a_name_of_ours_that_somebody_else_has_is_refused(situated: Callable[..., Situation]) -> None:
    known = situated({"spark1": "healthy-fe"})
    here = Here(known, known.placement.nodes[0], known.facts["spark1"])
    name = known.revision.container(here.members[0])
    taken = replace(here.facts, docker_ps=(Container("1", name, "exited", "busybox"),))
    assert _statuses(names_free, replace(here, facts=taken)) == ["fail"]
    assert _statuses(names_free, here) == []


def test_ray_is_looked_for_only_where_it_is_asked_for(situated: Callable[..., Situation]) -> None:
    found = {}
    for image in ("nvcr.io/nvidia/vllm:26.05-py3", "vllm-node-mxfp4", "own/image:1"):
        text = {"capture": "healthy-fe", "with": {"image-overlay2": ["images"]}}
        text["lines"] = {"images": {"-- 0 2154 vllm-node-mxfp4": f"-- 0 2154 {image}"}}
        known = situated({"spark1": text, "spark2": "healthy-fe"}, "cluster")
        other = replace(known.revision, image=replace(known.revision.image, reference=image))
        here = Here(replace(known, revision=other), known.placement.nodes[0], known.facts["spark1"])
        found[image] = "".join(_statuses(ray, here))
        with pytest.raises(CannotTell, match="the executor is not Ray"):
            _statuses(ray, replace(here, s=replace(known, revision=replace(other, executor="mp"))))
        read = replace(here.facts.images[image], software=Software(vllm="0.30.0"))
        assert _statuses(ray, replace(here, facts=replace(here.facts, images={image: read}))) == ["fail"]
    assert found == {"nvcr.io/nvidia/vllm:26.05-py3": "fail", "vllm-node-mxfp4": "", "own/image:1": "pass"}


def test_the_software_of_the_image_is_compared_with_that_of_the_recipe(situated: Callable[..., Situation]) -> None:
    known = situated({"spark1": "healthy-fe"}, recipe="unit/formats/nvidia/tern-8b/dgx-spark/recipe.yaml")
    tested, found = ValidatedStack(cuda="13.0", vllm="0.29.1rc1.dev12+g1234567"), {}
    metadata = replace(known.effective.recipe.metadata, tested_with=tested)
    settings = replace(known.effective, recipe=replace(known.effective.recipe, metadata=metadata))
    reference = known.revision.image.reference
    image = Image(reference, "sha256:1", "f", 1, "", "arm64", {}, {}, (), ())
    for vllm, torch in (("v0.29.1rc1.dev12", "2.11.0+cu130"), ("0.28.0", "2.11.0+cu128"), ("0.30.0", "2"), ("", "")):
        facts = replace(
            known.facts["spark1"], images={reference: replace(image, software=Software(vllm=vllm, torch=torch))}
        )
        here = Here(replace(known, effective=settings), known.placement.nodes[0], facts)
        found[vllm] = _statuses(tested_stack, here) if vllm else []
        if not vllm:
            with pytest.raises(CannotTell, match="nothing of what the recipe was tested with could be read"):
                _statuses(tested_stack, here)
    assert found == {"v0.29.1rc1.dev12": ["pass"] * 2, "0.28.0": ["warn"] * 2, "0.30.0": ["pass"], "": []}


def test_the_head_of_a_cluster_needs_the_ports_of_its_executor(situated: Callable[..., Situation]) -> None:
    known = situated({"spark1": "healthy-fe", "spark2": "healthy-fe"}, "cluster")
    needed = {}
    for executor in ("ray", "mp"):
        asked = replace(known, revision=replace(known.revision, executor=executor))
        needed[executor] = [
            sorted(wanted_ports(Here(asked, node, known.facts[node.name]))) for node in known.placement.nodes
        ]
    assert needed == {"ray": [[6379, 8000], []], "mp": [[8000, 29501, 29510], []]}


def test_each_node_asks_at_most_four_peers_over_each_twin_and_never_itself(situated: Callable[..., Situation]) -> None:
    for many in (2, 3, 5, 6, 13):
        known = situated({f"n{at}": "healthy-fe" for at in range(many)}, "cluster")
        asked = targets(known)
        assert len(asked) == many
        for name, pings in asked.items():
            rails = [[to for over, to, _ in pings if over == one] for one in ("enp1s0f1np1", "enP2p1s0f1np1")]
            own = {str(address.ip) for one in known.facts[name].interfaces for address in one.ipv4}
            assert all(len(set(rail)) == len(rail) == min(4, many - 1) and not own & set(rail) for rail in rails)
            assert {size for _, _, size in pings} == {8972}
            assert all(to.rpartition(".")[0] == "192.168.100" for to in rails[0])


def test_a_node_without_a_link_asks_nobody_and_nobody_asks_it(situated: Callable[..., Situation]) -> None:
    asked = targets(situated({"a": "healthy-fe", "b": "cable-down", "c": "healthy-fe"}, "cluster"))
    assert {name: [to for _, to, _ in pings] for name, pings in asked.items()} == {
        "a": ["192.168.100.12", "192.168.101.12"],
        "c": ["192.168.100.10", "192.168.101.10"],
    }


def test_a_deploy_is_refused_by_what_concerns_it_alone(situated: Callable[..., Situation]) -> None:
    nodes = {"a": "no-docker-group", "b": {"capture": "healthy-fe", "become": "sudo"}}
    found = findings(situated(nodes, "2x-solo"), frozenset())
    assert [(one.node, one.id, one.status) for one in found] == [("a", "docker-usable", "fail")]
    allowed = findings(situated(nodes, "2x-solo"), frozenset({"docker-usable"}))
    assert [one.action for one in allowed] == ["allowed"]


def test_a_deploy_reads_what_its_checks_need() -> None:
    """They are asked on the facts that it gathers anyway, so none may need the second look."""
    assert not {"cx7-pings"} & {check.id for check in CHECKS if check.deploys}
    assert access.ssh.deploys is False


def test_nothing_is_mended_without_the_right_to(situated: Callable[..., Situation]) -> None:
    stock = situated({"a": "healthy-fe"})
    held = {("a", check) for check in FIXES}
    assert set(fixes(stock, stock.placement.nodes, held)) == {("a", "caches-owned")}
    given = situated({"a": "healthy-fe"}, password=True)
    steps = {
        check: [step.title for step in done] for (_, check), done in fixes(given, given.placement.nodes, held).items()
    }
    assert steps["linger"] == ["record the change in the manifest", "enable lingering for jhunt"]
    assert "write the sudoers rule for the page cache drop" in steps["drop-permitted"]
    assert "earlyoom" not in steps, "it is not installed, and installing is for the person"


def test_caches_that_are_not_there_are_made_whatever_the_verdict(situated: Callable[..., Situation]) -> None:
    known = situated({"a": "healthy-fe"})
    (steps,) = fixes(known, known.placement.nodes, ()).values()
    assert "/home/jhunt/.cache/vllm" in steps[0].do.command.words  # type: ignore[union-attr]


def test_no_node_is_updated_to_a_version_with_a_known_problem() -> None:
    values = {"a": "6.17.0-1014-nvidia", "b": "7.0.0-1019-nvidia", "c": "6.17.0-1008-nvidia"}
    (said,) = parity("the kernel", values, Cures("update", "see the check kernel", frozenset({values["b"]})))
    assert said.hint == "on c: update; on b: see the check kernel"
