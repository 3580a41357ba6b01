"""`watch --web` over emulated nodes in a real browser: nodes with faults, a boot by rank, changes with a plan."""

import re
import ssl
import urllib.error
import urllib.request

import pytest

from support.browser import PHONE, WIDE, chromium, holds, kept, opened, overflow, violations
from support.faults import ALERTS
from support.tls import certificate
from support.web import Screens, problems, watch_web

NODES = 16
"""64 are shown in test_page_of_pictures.py, which needs none."""


@pytest.fixture(scope="module")
def browser():
    with chromium() as made:
        yield made


def test_nodes_with_faults_are_shown_with_what_is_wrong_while_it_is(lab_with, browser, until):
    lab = lab_with(nodes=NODES)
    faulty = dict(zip(lab.names, ALERTS, strict=False))
    dead = next(node for node, fault in faulty.items() if fault == "cron-dead")
    lab.json("cache", "schedule", "--every", "30m", "--limit", dead)
    hostile = lab.names[-1]
    lab.fault(hostile, "garbage")
    with watch_web(lab) as web, opened(browser, web.links[-1]) as page:
        screens = Screens(web, page)
        page.wait_for_selector("#nodes .card >> nth=15")
        for node, fault in faulty.items():
            lab.fault(node, fault)
        for node, fault in faulty.items():
            assert until(lambda node=node, fault=fault: screens.show(node, ALERTS[fault])), problems(page)
        assert until(lambda: screens.show(hostile, "node-away")), problems(page)
        assert violations(page) == []
        kept(page, "fleet-of-16-wide")
        for node, fault in faulty.items():
            lab.fault(node, fault, off=True)
        for node, fault in faulty.items():
            assert until(lambda node=node, fault=fault: screens.end(node, ALERTS[fault])), problems(page)
        with opened(browser, web.links[-1], PHONE, dark=True) as phone:
            phone.wait_for_selector("#nodes .card >> nth=15")
            assert overflow(phone) <= 0
            kept(phone, "fleet-of-16-phone")


def test_a_boot_is_followed_rank_by_rank_and_cables_checks_and_benchmarks_are_shown(lab_with, browser, until):
    lab = lab_with(nodes=2, speed=0.2)
    process = lab.start("deploy", "--topology", "cluster")
    with watch_web(lab) as web, opened(browser, web.links[-1], WIDE) as page:
        page.wait_for_selector("progress[aria-label='boot of node1']", timeout=60_000)
        worker = "document.getElementById('deployments').textContent.includes('Ray runs on this node')"
        assert holds(page, worker), "a worker has no percentage"
        kept(page, "boot-wide")
        lab.ended(process, code=0)
        assert until(lambda: page.locator("#deployments .value.good").count() == 1)
        page.get_by_role("button", name=re.compile("^log of .*head")).click()
        assert holds(page, "document.getElementById('log').textContent.includes('vLLM')")
        for drawn in ("#fabric table", "#preflight p", "#benchmarks p"):
            page.locator(drawn.split()[0]).scroll_into_view_if_needed()  # what nobody looks at is not asked for
            page.wait_for_selector(drawn, timeout=120_000)
        assert "node1 p0" in page.inner_text("#fabric")
        assert violations(page) == []
        kept(page, "cluster-wide")


def test_a_button_shows_command_and_plan_before_it_changes_anything(lab_with, browser, until):
    lab = lab_with(nodes=1)
    lab.json("deploy", "--topology", "solo", "--setup")
    before = lab.starts()
    with watch_web(lab) as web, opened(browser, web.links[-1]) as page:
        page.wait_for_selector("#deployments .card")
        assert page.get_by_role("button", name=re.compile("^restart")).count() == 0
    with watch_web(lab, "--allow-changes") as web, opened(browser, web.links[-1]) as page:
        page.get_by_role("button", name=re.compile("^restart")).click()
        page.wait_for_selector("#ask-yes:not([disabled])", timeout=60_000)
        assert re.search(r"sparkops -i lab restart openai-gpt-oss-120b", page.inner_text("#ask-command"))
        assert "* stop sparkops-openai-gpt-oss-120b-server" in page.inner_text("#ask-plan")
        assert lab.starts() == before
        kept(page, "restart-plan")
        page.click("#ask-yes")
        assert holds(page, "document.getElementById('ask-state').textContent === 'done'", 120.0)
        assert until(lambda: lab.starts() != before and lab.serves())


def test_a_page_for_others_needs_tls_and_a_day_is_kept(lab_with, browser):
    lab = lab_with(nodes=1)
    refused = lab.cli("watch", "--web", "--listen", "0.0.0.0:8799", code=2)
    assert "without TLS" in refused.err
    with watch_web(lab, "--keep") as web, opened(browser, web.links[-1]) as page:
        page.get_by_role("button", name="charts of node1").click()
        page.select_option("#span", "day")
        page.wait_for_selector("#nodes .card")
    found = list((lab.home / "state" / "sparkops" / "watch").glob("*.sqlite"))
    assert len(found) == 1
    assert found[0].stat().st_mode & 0o077 == 0
    assert len(web.links) == 2, "the next link, once the first was used"


def test_a_page_with_tls_lets_in_whoever_opens_its_link_and_files_that_are_none_are_refused(lab_with, tmp_path):
    lab = lab_with(nodes=1)
    pem, key = certificate(tmp_path)
    refused = lab.cli("watch", "--web", "--tls-cert", key, "--tls-key", pem, code=2)
    assert "cannot be used for TLS" in refused.err
    trust = ssl.create_default_context(cafile=str(pem))
    with watch_web(lab, "--tls-cert", pem, "--tls-key", key) as web:
        assert web.links[0].startswith("https://127.0.0.1:")
        with urllib.request.urlopen(web.links[0], context=trust, timeout=30) as answer:
            assert "Secure" in answer.headers["Set-Cookie"]
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(web.links[0], context=trust, timeout=30)
