"""Every capture means what its case says."""

from __future__ import annotations

from sparkops.core.facts import PROBES, parse
from sparkops.core.facts.raw import END, read, write

ONLY_WHEN_THERE = {"docker-ours", "docker-strangers", "docker-logs", "images", "model"}


def test_the_case_reads_as_expected(case):
    assert case.differences == []


def test_the_case_is_read_at_every_place_that_puts_facts_together(case):
    facts = case.facts
    assert facts.identity.reason
    assert isinstance(facts.containers, tuple)
    assert isinstance(facts.interfaces, tuple)
    assert isinstance(facts.unread, dict)


def test_a_capture_holds_every_probe_that_is_always_asked(capture):
    assert set(PROBES) - ONLY_WHEN_THERE <= set(read(capture))


def test_a_capture_is_what_writing_it_again_gives(capture):
    probes = {name: (probe.exit, probe.text) for name, probe in read(capture).items() if name != END}
    assert write(probes) == capture


def test_equal_images_have_one_fingerprint_whatever_stores_them(load):
    overlay2 = load("image-overlay2").facts.image("vllm-node-mxfp4")
    containerd = load("image-containerd").facts.image("vllm-node-mxfp4")
    assert overlay2.id != containerd.id
    assert overlay2.fingerprint == containerd.fingerprint


def test_a_healthy_node_leaves_nothing_unread_but_what_was_not_asked(load):
    unread = load("healthy-fe").facts.unread
    assert set(unread) == {name.replace("-", "_") for name in ONLY_WHEN_THERE}
    assert parse(load("healthy-fe").raw) == load("healthy-fe").facts
