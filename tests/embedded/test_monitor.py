"""What `watch` tells others: a real Prometheus asks it and judges, and a server and a program hear of alerts."""

import json
import shutil
import subprocess
import threading
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import yaml

from support.ports import free_port


@pytest.fixture
def running():
    """Start a process that is ended after the test."""
    found: list[subprocess.Popen[str]] = []

    def start(process):
        found.append(process)
        return process

    yield start
    for process in found:
        process.terminate()
        process.communicate(timeout=30)


class Prometheus:
    """Debian's Prometheus, which asks and judges every second."""

    def __init__(self, directory, rules, targets) -> None:
        self.port = free_port()
        (directory / "rules.yml").write_text(rules)
        (directory / "targets.json").write_text(targets)
        told = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": ["rules.yml"],
            "scrape_configs": [{"job_name": "sparks", "file_sd_configs": [{"files": ["targets.json"]}]}],
        }
        (directory / "prometheus.yml").write_text(yaml.safe_dump(told))
        words = (f"--config.file={directory / 'prometheus.yml'}", f"--storage.tsdb.path={directory / 'data'}",
                 f"--web.listen-address=127.0.0.1:{self.port}")  # fmt: skip
        self.process = subprocess.Popen(["prometheus", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def get(self, path: str) -> dict:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/{path}", timeout=10) as answer:
                return json.load(answer)["data"]
        except OSError:
            return {}

    def query(self, text: str) -> list[dict]:
        return self.get(f"query?{urllib.parse.urlencode({'query': text})}").get("result", [])

    def firing(self) -> set[tuple[str, str]]:
        alerts = self.get("alerts").get("alerts", [])
        return {
            (one["labels"]["alertname"], one["labels"].get("node", "")) for one in alerts if one["state"] != "inactive"
        }


@pytest.mark.skipif(shutil.which("prometheus") is None, reason="prometheus is not installed")
def test_a_real_prometheus_asks_and_its_rules_fire_and_end(lab_with, running, until, tmp_path):
    lab, port = lab_with(nodes=3), free_port()
    lab.json("deploy", "--topology", "2x-solo", "--limit", "node1,node2", "--setup")
    running(lab.start("watch", "--metrics", port))
    targets = lab.cli("monitor", "targets", "--metrics", port, code=0).out
    server = Prometheus(tmp_path, lab.cli("monitor", "rules", code=0).out, targets)
    running(server.process)
    assert until(lambda: len(server.query("sparkops_node_up == 1")) == 3)
    assert until(lambda: {one["health"] for one in server.get("targets").get("activeTargets", [])} == {"up"})
    assert until(lambda: len(server.query("sum by (deployment, node) (vllm:num_requests_running)")) == 2)
    lab.serves("node1", port=8001)
    assert until(lambda: server.query("sum(sparkops_engine_generated_tokens_total) > 0"))
    with lab.trouble("node3", "link-100g"):
        assert until(lambda: ("SparkopsLinkSlow", "node3") in server.firing())
    assert until(lambda: server.firing() == set())


class Heard(BaseHTTPRequestHandler):
    """Keeps what is posted."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.heard.append((self.path, dict(self.headers), body))
        self.send_response(200 if self.path != "/broken" else 500)
        self.end_headers()

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def webhook():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Heard)
    server.heard = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_each_is_told_once_and_one_that_cannot_be_told_is_said(lab_with, running, until, webhook, tmp_path):
    lab, url = lab_with(nodes=1), f"127.0.0.1:{webhook.server_port}"
    wrote = tmp_path / "told by a program"
    targets = (f"http://{url}/hook", f"ntfy+http://:secret@{url}/topic", f"http://{url}/broken", f"tee '{wrote}'")
    watch = running(lab.start("watch", *(word for target in targets for word in ("--notify", target))))
    lines: list[str] = []
    threading.Thread(target=lambda: lines.extend(iter(watch.stdout.readline, "")), daemon=True).start()

    def heard(path: str, alert: str = "link-slow") -> list[tuple[dict[str, str], str]]:
        return [
            (headers, body) for asked, headers, body in webhook.heard if asked == path and alert in str((headers, body))
        ]

    with lab.trouble("node1", "link-100g"):
        assert until(lambda: heard("/hook") and heard("/topic") and wrote.exists() and wrote.read_text())
        assert until(lambda: any("not-told" in line for line in lines)), lines
    ((_, body),) = heard("/hook")
    told = json.loads(body)
    assert (told["alert"], told["state"], told["node"]) == ("link-slow", "began", "node1")
    assert told["next"] == "see why: `sparkops -i lab fabric`"
    ((headers, text),) = heard("/topic")
    assert (headers["Title"], headers["Authorization"]) == ("node1: link-slow", "Bearer secret")
    assert "not 200" in text
    assert json.loads(wrote.read_text())["alert"] == "link-slow"
    assert until(lambda: len(heard("/hook")) == 2)
    assert json.loads(heard("/hook")[1][1])["state"] == "over"
    assert until(lambda: heard("/hook", "not-told")), "those that can be told hear of those that cannot"
    assert [line for line in lines if "secret" in line or "/broken" in line] == []
