"""`bench` over the embedded lab with the real llama-benchy: numbers that are its own, failures that are none."""

from __future__ import annotations

import json
import signal
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

pytest.importorskip("llama_benchy", reason="the extra `bench` is not installed")
tokenizers = pytest.importorskip("tokenizers", reason="the extra `bench` is not installed")
pytest.importorskip("matplotlib", reason="the extra `bench` is not installed")

GPT = "openai-gpt-oss-120b"
GPT_MODEL = "openai/gpt-oss-120b"
SMALL = ("--set", "concurrency=1,2", "--set", "runs=1", "--set", "pp=512", "--set", "tg=200")
ONE = (*SMALL, "--set", "concurrency=1")
TOKENS = 1000
LONG = (*SMALL, "--set", f"tg={TOKENS}")
"""Each of its two points takes seconds after the import of llama-benchy: time to meet the second one under way."""
SLOW = 2.0
"""A speed at which a prompt takes a second: llama-benchy has no number for one that is as quick as the network."""


@pytest.fixture(scope="module")
def shared(lab_with):
    return lab_with(speed=SLOW)


@pytest.fixture(scope="module")
def offline(tmp_path_factory):
    """A text and a tokenizer of one token a word: nothing is fetched."""
    place = tmp_path_factory.mktemp("a place for texts")
    words = [f"word{number}" for number in range(500)]
    book = place / "book.txt"
    book.write_text(" ".join(words * 20))
    model = tokenizers.models.WordLevel({word: number for number, word in enumerate(["[UNK]", *words])}, "[UNK]")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(place / "tokenizer.json"))
    return ("--skip-coherence", "--book", str(book), "--tokenizer", str(place / "tokenizer.json"))


@pytest.fixture
def served(lab):
    """One server on the first node; whatever else served is gone."""
    if {node for node, _ in lab.running()} - {"node1"}:
        lab.clear()
    lab.deploy("solo", "--limit", "node1")
    return lab


def kept(lab, name):
    return json.loads((lab.home / "state" / "sparkops" / "bench" / f"{name}.json").read_text())


def records(lab):
    return [one["id"] for one in lab.json("bench", "list")["records"]]


def asked(lab):
    """Whether the engine of the first node works on a request."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://{lab.address('node1')}:8000/load", timeout=60) as answer:
        return json.load(answer)["server_load"] > 0


def begun(lab, process, text):
    """Wait for a line of a run that goes on."""
    for line in process.stderr:
        if text in line:
            return
    pytest.fail(f"{text} was never said")


def test_numbers_are_those_of_llama_benchy_and_what_ran_is_kept_with_them(served, offline):
    lab = served
    found = lab.json("bench", "run", "--suite", "smoke", *SMALL, *offline)
    assert [row["concurrency"] for row in found["rows"]] == [1, 2]
    raw = [entry for document in kept(lab, found["id"])["raw"] for entry in document["benchmarks"]]
    theirs = {"prefill": "pp_throughput", "decode": "tg_throughput", "peak": "peak_throughput", "ttft": "e2e_ttft"}
    for row, entry in zip(found["rows"], raw, strict=True):
        assert {name: row["metrics"][name]["mean"] for name in theirs} == {
            name: entry[key]["mean"] for name, key in theirs.items()
        }
    assert found["record"]["lock"]["revision"]["topology"] == "solo"
    assert found["record"]["lock"]["nodes"]["node1"]["driver"]
    assert set(found["record"]["versions"]) == {"sparkops", "llama-benchy"}
    assert found["record"]["samples"][0]["node"] == "node1"
    shown = lab.cli("bench", "show", "last", lab=False, code=0)
    assert "nodes meanwhile" in shown.out
    assert lab.key() not in json.dumps(kept(lab, found["id"])) + shown.told


def test_progress_is_told_without_a_terminal_and_json_stays_one_document(served, offline):
    ran = served.cli("bench", "run", *SMALL, *offline, "--json", code=0)
    assert "concurrency 2" in ran.err
    assert ran.document["ok"] is True


def test_any_url_is_measured_with_its_key_and_never_with_a_wrong_one(served, offline):
    lab = served
    url = f"http://{lab.address('node1')}:8000"
    asked = ("bench", "run", "--url", url, "--model", "openai/gpt-oss-120b", *SMALL, *offline, "--json")
    assert lab.cli(*asked, lab=False, code=0, SPARKOPS_API_KEY=lab.key()).document["record"]["lock"] is None
    wrong = lab.cli(*asked, lab=False, code=5, SPARKOPS_API_KEY="sk-wrong").document
    assert "401" in wrong["error"]["message"]
    assert wrong["rows"] == []


CHUNK = json.dumps({"choices": [{"delta": {"content": "word1 "}, "token_ids": [1]}]})
CUT = "".join(f"data: {text}\n\n" for text in [*[CHUNK] * 20, '{"error": {"message": "Connection error"}}', "[DONE]"])
WHOLE = json.dumps({"choices": [{"message": {"content": "word1"}}], "usage": {"prompt_tokens": 1}})


class Other(BaseHTTPRequestHandler):
    """On a port that is somebody else's: a web page; below /cut a proxy whose server dies in each answer."""

    def do_GET(self):
        self.answer("text/html", "<!doctype html><title>It works</title>")

    def do_POST(self):
        asked = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if not self.path.startswith("/cut"):
            self.do_GET()
        elif json.loads(asked).get("stream"):
            self.answer("text/event-stream", CUT)
        else:
            self.answer("application/json", WHOLE)

    def answer(self, kind, text):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *words):
        pass


@pytest.fixture(scope="module")
def website():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Other)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("url", "model", "reason", "hint"),
    [
        ("http://{api}", "nobody", "HTTP 404", "/v1/models lists"),
        ("http://{api}/v1/chat/completions", GPT_MODEL, "HTTP 404", "before /v1"),
        ("http://127.0.0.1:9", GPT_MODEL, "Cannot connect to host 127.0.0.1:9", "does it serve"),
        ("https://{api}", GPT_MODEL, "WRONG_VERSION_NUMBER", "plain HTTP"),
        ("{website}", GPT_MODEL, "text/html", "is it the right port"),
        ("{website}/cut", GPT_MODEL, "an answer ended after 20 of 200 tokens", "died in the middle"),
    ],
)
def test_a_wrong_url_or_model_is_a_failure_with_what_to_do_and_never_a_number(
    served, offline, website, url, model, reason, hint
):
    lab = served
    where = url.format(api=f"{lab.address('node1')}:8000", website=website)
    asked = ("bench", "run", "--url", where, "--model", model, *ONE, *offline)
    document = lab.json(*asked, code=5, SPARKOPS_API_KEY=lab.key())
    assert (document["ok"], document["rows"], document["record"]["raw"]) == (False, [], [])
    assert reason in document["error"]["message"]
    assert hint in document["error"]["hint"]
    assert "--resume" not in document["error"]["hint"]


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "http://", "http://127.0.0.1:port", "ftp://127.0.0.1"])
def test_what_is_no_url_is_said_before_anything_is_asked(lab, offline, url):
    ran = lab.cli("bench", "run", "--url", url, "--model", GPT_MODEL, *SMALL, *offline, lab=False, code=2)
    assert f"--url {url}: must be like http://HOST:PORT" in ran.err


@pytest.mark.parametrize("option", ["--book", "--tokenizer"])
def test_a_file_that_is_not_there_is_said_before_anything_is_deployed(lab, option):
    lab.mark()
    ran = lab.cli("bench", "topologies", *SMALL, option, "/nowhere/at/all", code=2)
    assert f"{option} /nowhere/at/all: there is no such file" in ran.err
    ran = lab.cli("deploy", "--topology", "solo", "--bench", code=2, SPARKOPS_BOOK="/nowhere/at/all")
    assert "$SPARKOPS_BOOK /nowhere/at/all" in ran.err
    assert lab.changed() == []


def test_a_server_that_dies_in_the_middle_is_a_failure_and_no_number(served, offline):
    lab = served
    process = lab.start("bench", "run", *LONG, *offline, "--json")
    begun(lab, process, "concurrency 1: ")
    with lab.trouble("node1", "peer-dead-health-green"):  # no request of the second point comes to its end
        lab.brings(process, lambda: asked(lab))
        lab.fault("node1", "engine-killed")
    document = lab.ended(process, 5).document
    assert document["ok"] is False
    assert document["rows"] == []
    assert "concurrency 2" in document["error"]["message"]
    assert lab.json("bench", "show", document["id"])["state"] == "failed"
    assert lab.cli("bench", "export", document["id"], lab=False).code == 3
    assert lab.cli("bench", "compare", document["id"], document["id"], lab=False).code == 3


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_run_goes_on_where_it_was(served, offline, number, until):
    lab = served
    process = lab.start("bench", "run", *LONG, *offline, "--label", "mine")
    begun(lab, process, "concurrency 1: ")
    process.send_signal(number)
    told = lab.ended(process, 130 if number == signal.SIGINT else -9).err
    assert until(lambda: not measuring(lab))
    name = records(lab)[-1]
    assert number == signal.SIGKILL or f"--resume {name}" in told
    first = kept(lab, name)["raw"]
    assert len(first) == 1
    assert lab.json("bench", "show", name)["state"] == "unfinished"
    resumed = lab.json("bench", "run", "--resume", name, *offline)
    assert (resumed["id"], resumed["record"]["label"], len(resumed["rows"])) == (name, "mine", 2)
    assert kept(lab, name)["raw"][0] == first[0]


def measuring(lab):
    """What still measures for this person, told by the home in its environment, and sends requests as long."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if str(lab.home).encode() in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_text())
        except OSError:
            continue
    return [line for line in found if "llama" in line or "benchy.py" in line]


def test_a_run_goes_on_only_with_what_was_begun(served, offline):
    lab = served
    name = lab.json("bench", "run", *ONE, *offline)["id"]
    lab.deploy("solo", "--limit", "node1", "--set", "args.max-model-len=2048")
    error = lab.json("bench", "run", "--resume", name, *offline, code=3)["error"]
    assert "another deployment" in error["message"]


def test_a_wedged_gpu_makes_the_run_a_failure(served, offline):
    lab = served
    with lab.trouble("node1", "gpu-wedged"):
        document = lab.json("bench", "run", *LONG, *offline, code=5)
    assert "stayed at 513 MHz" in document["error"]["message"]


def test_runs_of_the_same_thing_are_compared_and_of_others_refused(served, offline):
    lab = served
    first, second = (lab.json("bench", "run", *ONE, *offline)["id"] for _ in range(2))
    found = lab.json("bench", "compare", first, second)
    assert found["comparisons"][0]["metric"] == "decode"
    lab.deploy("solo", "--limit", "node1", "--set", "args.max-model-len=8192")
    other = lab.json("bench", "run", *ONE, *offline)["id"]
    refused = lab.json("bench", "compare", first, other, code=3)["error"]
    assert "--max-model-len" in refused["message"]
    assert "--vary flags" in refused["hint"]
    assert lab.json("bench", "compare", first, other, "--vary", "flags")["labels"]


@pytest.fixture
def own(empty, offline):
    """An empty lab whose first node has the tokenizer of one token a word, and deploys of it with such a text."""
    text = Path(offline[-1]).read_text()
    for path in empty.node("node1", "home", ".cache", "huggingface", "hub").rglob("tokenizer.json"):
        path.write_text(text)

    def deploy(answer, *words):
        recipe = empty.work / "own.yml"
        recipe.write_text(
            f"extends: {GPT}\nbenchmark:\n  enabled: true\n  framework: vllm-bench\n"
            f'  args: ["--random-input-len", "256", "--tg", "{answer}", "--concurrency", "1,2", "--runs", "1",'
            ' "--num-prompts", "9"]\n'
        )
        return empty.start(
            *("deploy", "--recipe", recipe, "--topology", "solo", "--limit", "node1", "--json", *words),
            SPARKOPS_BOOK=offline[2],
        )

    return empty, deploy


def test_deploy_measures_what_it_started_with_the_tokenizer_of_its_node(own, offline):
    lab, _ = own
    words = ("deploy", "--topology", "solo", "--limit", "node1", "--bench=smoke")
    found = lab.json(*words, SPARKOPS_BOOK=offline[2])
    assert found["bench"]["rows"][0]["metrics"]["decode"]["mean"] > 0
    assert found["bench"]["record"]["suite"]["id"] == "smoke"
    shown = lab.json("bench", "run", "--suite", "smokey", code=2)
    assert "smoke?" in shown["error"]["message"]


def test_a_recipe_that_asks_for_it_is_measured_after_each_change_and_no_other_time(own):
    lab, deploy = own
    ran = lab.ended(deploy(100), 0)
    assert [(row["prompt"], row["answer"], row["concurrency"]) for row in ran.document["bench"]["rows"]] == [
        (256, 100, 1),
        (256, 100, 2),
    ]
    assert "--num-prompts: here a point is measured" in ran.err
    assert "vllm-bench: llama-benchy is what measures" in ran.err
    assert "bench" not in lab.ended(deploy(100), 0).document
    words = ("--recipe", lab.work / "own.yml", "--topology", "solo", "--limit", "node1")
    assert lab.json("plan", *words)["changes"] == []
    changes = lab.json("plan", *words, "--set", "args.max-model-len=3000")["changes"]
    assert changes[-1] == "then measures it: The benchmark of own, 3 requests"
    assert "bench" not in lab.ended(deploy(100, "--set", "args.max-model-len=3000", "--no-bench"), 0).document


@pytest.mark.parametrize("trouble", ["engine", "interrupt"])
def test_a_benchmark_that_fails_or_is_interrupted_leaves_what_was_deployed(own, trouble, until):
    lab, deploy = own
    process = deploy(TOKENS)
    begun(lab, process, "concurrency 1: ")
    if trouble == "engine":
        lab.fault("node1", "engine-killed")
    else:
        process.send_signal(signal.SIGINT)
    document = lab.ended(process, 5 if trouble == "engine" else 130).document
    assert document["endpoints"][0]["node"] == "node1"
    assert (document["bench"]["ok"], document["bench"]["rows"]) == (False, [])
    assert f"--resume {records(lab)[-1]}" in document["error"]["hint"]
    assert trouble == "engine" or "own serves on" in document["error"]["message"]
    assert until(lambda: lab.state() == {"own": "serving"}) if trouble == "interrupt" else lab.running() != set()


def test_a_home_that_cannot_be_written_is_said_before_anything_is_measured(served, offline):
    lab = served
    place = lab.base / "a file, not a folder"
    place.write_text("")
    ran = lab.cli("bench", "run", *ONE, *offline, XDG_STATE_HOME=str(place), code=2)
    assert "not a directory" in ran.err
    assert "Traceback" not in ran.told


def test_the_experiment_brings_back_what_served_and_its_page_has_every_topology(empty, offline):
    lab = empty
    lab.deploy("solo", "--limit", "node2", "--set", "args.max-model-len=2048")
    before = lab.running()
    ran = lab.json("bench", "topologies", "--topologies", "solo,2x-solo", *ONE, *offline, "-o", "report.html")
    assert ran["labels"] == ["solo", "2x-solo"]
    assert lab.running() == before
    assert lab.serves("node2")
    page = (lab.work / "report.html").read_text()
    for one in ran["runs"]:
        for row in lab.json("bench", "show", one)["rows"]:
            rate = row["metrics"]["decode"]["mean"]
            assert f"{rate:,.{1 if rate < 1000 else 0}f}" in page


def test_an_experiment_that_fails_on_one_topology_reports_the_other_and_the_same_command_does_the_rest(empty, offline):
    lab = empty
    words = ("bench", "topologies", "--topologies", "2x-solo,solo", *ONE, *offline, "-o", "report.html")
    with lab.trouble("node2", "crash-while-loading"):
        found = lab.json(*words, code=5)
    assert found["error"]["node"] == "node2"
    assert found["labels"] == ["solo"]
    assert list(found["failed"]) == ["2x-solo"]
    assert "2x-solo: not measured: node2: " in (lab.work / "report.html").read_text()
    assert lab.running() == set()
    again = lab.json(*words)
    assert again["labels"] == ["2x-solo", "solo"]
    assert again["runs"][1:] == found["runs"]
    assert "not measured" not in (lab.work / "report.html").read_text()
    assert lab.json(*words)["runs"][1:] != found["runs"]


def test_an_interrupted_experiment_brings_back_what_served_and_takes_away_what_it_put_beside_it(empty, offline):
    lab = empty
    lab.deploy("solo", "--limit", "node2", "--set", "args.max-model-len=2048")
    before = lab.running()
    process = lab.start("bench", "topologies", "--topologies", "solo,2x-solo", *LONG, *offline)
    begun(lab, process, "concurrency 1: ")
    process.send_signal(signal.SIGINT)
    assert "what served before serves again" in lab.ended(process, 130).err
    assert lab.running() == before
    assert lab.serves("node2")


def test_the_same_command_goes_on_with_a_killed_experiment_and_brings_back_what_served_before_it(empty, offline, until):
    lab = empty
    lab.deploy("solo", "--limit", "node2", "--set", "args.max-model-len=2048")
    before = lab.running()
    words = ("bench", "topologies", "--topologies", "2x-solo,solo", *LONG, *offline)
    process = lab.start(*words)
    begun(lab, process, "concurrency 1: ")
    lab.killed(process)
    assert until(lambda: not measuring(lab)), "else its requests would be measured too"
    assert lab.running() != before
    name = records(lab)[-1]
    first = kept(lab, name)["raw"]
    found = lab.json(*words)
    assert found["runs"][0] == name
    assert kept(lab, name)["raw"][:1] == first
    assert lab.running() == before
    assert lab.serves("node2")


def test_what_cannot_be_an_experiment_is_said_before_anything_stops(served, offline):
    lab = served
    before = lab.running()
    for words in (("--topologies", "solo"), ("--topologies", "solo,sollo"), ("-o", "/nowhere/x.html")):
        lab.cli("bench", "topologies", *words, *SMALL, *offline, code=2)
    assert lab.running() == before


def test_what_cannot_be_measured_from_a_node_is_said(served):
    error = served.json("bench", "run", "--on", "node1", *SMALL, code=3)["error"]
    assert "llama-benchy" in error["message"]
