"""How answers read for a person."""

from __future__ import annotations

import re
import shlex
import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from sparkops.cli.table import VERBS
from sparkops.report.answers import ANSWERS, rendered
from sparkops.report.text import WIDTH, How, Ink, clip, clock, columns, continued

PLAIN = Ink()


def told(verb: str, document: dict[str, Any], verbose: bool = False) -> list[str]:
    return list(rendered(verb, document, PLAIN, How(verbose, "sparkops -i lab")))


RUN = "docker run -d --label 'sparkops.revision={\"a\":1}' " + "-e NAME=VALUE " * 30 + "image @entry head"

PLAN: dict[str, Any] = {
    "id": "29a0e13020e5",
    "deployment": "gpt",
    "topology": "cluster",
    "hash": "de6d540697e174bb",
    "changed": True,
    "changes": ["starts gpt de6d5406"],
    "placement": {"head": "a", "nodes": [{"name": "a", "address": "10.0.0.1", "role": "head"}]},
    "settings": [{"flag": "--enforce-eager", "value": True, "origin": "r.yml:3"}],
    "rules": [{"id": "cluster-lm-head", "action": "fix", "message": "no lm_head", "why": "because " * 40}],
    "steps": [
        {"phase": "p", "node": "a", "title": "one", "command": "@file dirs /x\nundo: @job cancel x", "changes": True},
        {
            "phase": "q",
            "node": "a",
            "title": "run",
            "command": "docker run -d --label 'sparkops.revision={\"a\":1}' "
            + "-e NAME=VALUE " * 30
            + "image @entry head",
            "changes": True,
        },
    ],
}


def test_every_verb_has_its_own_form() -> None:
    assert set(ANSWERS) == set(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_an_answer_without_keys_does_not_break_the_report(verb: str) -> None:
    needed = {"recipe list": {"recipes": []}}
    told(verb, needed.get(verb, {}))


def test_a_plan_shows_settings_with_origin_findings_with_reason_and_steps_by_phase_and_node() -> None:
    lines = told("plan", PLAN)
    assert lines[0] == "gpt as cluster (de6d5406)"
    assert "  --enforce-eager  true  r.yml:3" in lines
    assert "  fix     cluster-lm-head: no lm_head" in lines
    assert lines.index("[p]") < lines.index("    * one") < lines.index("[q]")
    assert "        undo: @job cancel x" in lines
    assert "  starts gpt de6d5406" in lines
    assert "--expect 29a0e13020e5" in lines[-1]
    assert max(map(len, lines)) <= WIDTH


def test_the_revision_label_is_shown_only_when_asked_for() -> None:
    assert "sparkops.revision=...'" in "\n".join(told("plan", PLAN))
    assert "sparkops.revision={" in "\n".join(told("plan", PLAN, verbose=True))


def test_a_verbose_plan_shows_the_text_of_each_script_it_names_and_of_what_they_carry() -> None:
    lines = told("plan", PLAN, verbose=True)
    assert [line for line in lines if re.fullmatch(r"@\w+", line)] == ["@entry", "@file", "@job", "@own", "@record"]
    assert any("#!/bin/sh" in line or "set -" in line for line in lines)


def test_a_plan_without_changes_says_so() -> None:
    assert "Nothing to change" in told("plan", {**PLAN, "changed": False, "changes": [], "steps": []})[-1]


def test_a_deploy_ends_with_a_request_to_paste_that_holds_no_key() -> None:
    endpoint = {"url": "http://10.0.0.1:8000/v1", "model": "m", "node": "a"}
    lines = told("deploy", {"changed": True, "deployment": "gpt", "endpoints": [endpoint], "seconds": 92.4})
    assert "gpt serves after 92 s" in lines
    request = " ".join(line.strip().removesuffix("\\") for line in lines[-2:])
    words = shlex.split(request.replace("$(sparkops -i lab key)", "KEY"))
    assert words[:2] == ["curl", "http://10.0.0.1:8000/v1/chat/completions"]
    assert "Authorization: Bearer KEY" in words


def test_a_deploy_that_changed_nothing_says_so_and_where_it_serves() -> None:
    endpoint = {"url": "http://10.0.0.1:8000/v1", "model": "m", "node": "a"}
    lines = told("deploy", {"changed": False, "deployment": "gpt", "endpoints": [endpoint]})
    assert lines[0] == "Nothing changed: it serves already."
    assert "gpt serves" in lines


def test_variables_of_an_endpoint_can_be_evaluated_by_a_shell() -> None:
    value = "it's $HOME `x`"
    script = "\n".join(told("endpoint", {"variables": {"OPENAI_API_KEY": value}}))
    done = subprocess.run(
        ["sh", "-c", f'{script}\nprintf %s "$OPENAI_API_KEY"'], capture_output=True, text=True, check=True
    )
    assert done.stdout == value


def test_raw_facts_come_out_as_they_came_in() -> None:
    raw = "sparkops-facts 1\n== uptime 0 3 4\nabc\n\n"
    assert "\n".join(told("facts", {"raw": raw})) + "\n" == raw


STATUS: dict[str, Any] = {
    "name": "gpt",
    "topology": "cluster",
    "recipe": "gpt",
    "hash": "de6d5406ff",
    "state": "degraded",
    "reason": "node b does not answer",
    "endpoints": [{"url": "http://10.0.0.1:8000/v1", "model": "m", "healthy": False}],
    "nodes": [
        {"name": "a", "address": "10.0.0.1", "role": "head", "reachable": True, "state": "running", "restarts": 0},
        {"name": "b", "address": "10.0.0.2", "role": "worker", "reachable": False, "state": "", "restarts": 2},
    ],
    "ray": {"nodes": 1, "gpus": 1},
}


def test_a_status_shows_state_nodes_ray_and_endpoints() -> None:
    lines = told("status", {"deployments": [STATUS], "unreachable": {"b": "timed out"}})
    assert lines[0] == "gpt  degraded  gpt as cluster, de6d5406"
    assert lines[1] == "  node b does not answer"
    assert "  b     10.0.0.2  worker  unreachable  2" in lines
    assert "  ray: 1 nodes, 1 GPUs" in lines
    assert lines[-1] == "b: unreachable: timed out"


def test_a_status_never_shows_no_nodes_of_a_ray_that_did_not_tell() -> None:
    lines = told("status", {"deployments": [{**STATUS, "ray": {"nodes": None, "gpus": None}}]})
    assert "  ray: did not tell its nodes in time" in lines


def test_no_answer_has_colour_unless_asked_for() -> None:
    assert "\x1b" not in "\n".join(told("plan", PLAN))
    assert "\x1b" in "\n".join(rendered("plan", PLAN, Ink(True), How()))


def test_columns_line_up_whatever_colour_their_cells_have() -> None:
    ink = Ink(True)
    lines = [re.sub(r"\x1b\[\d*m", "", line) for line in columns([[ink.bold("a"), 1], ["long", None]])]
    assert lines == ["a     1", "long  -"]


@given(some.lists(some.text(some.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp")), max_size=40), min_size=1))
def test_a_command_over_several_lines_means_the_same_to_a_shell(words: list[str]) -> None:
    command = shlex.join(words)
    over_lines = "\n".join(continued(command, "    ", 40))
    assert shlex.split(over_lines.replace("\\\n", "")) == words


def test_times_and_long_lines_are_short() -> None:
    assert [clock(seconds) for seconds in (0, 65, 3725)] == ["0:00", "1:05", "1:02:05"]
    assert clip("a b\n  c", 20) == "a b c"
    assert clip("x" * 30, 10) == "x" * 7 + "..."
