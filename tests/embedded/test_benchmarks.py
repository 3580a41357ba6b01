"""`bench` with the real llama-benchy: its numbers, its words for failures, its processes. tests/world has the rest."""

import json
import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from support import serving
from support.processes import living

pytest.importorskip("llama_benchy", reason="the extra `bench` is not installed")
tokenizers = pytest.importorskip("tokenizers", reason="the extra `bench` is not installed")
pytest.importorskip("matplotlib", reason="the extra `bench` is not installed")

GPT_MODEL = "openai/gpt-oss-120b"
SMALL = ("--set", "concurrency=1,2", "--set", "runs=1", "--set", "pp=512", "--set", "tg=200")
ONE = (*SMALL, "--set", "concurrency=1")
LONG = (*SMALL, "--set", "tg=500")
"""Each of its points takes seconds after the import of llama-benchy: time to meet the next one under way."""
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


def asked(lab):
    """Whether the engine of the first node works on a request."""
    return json.loads(serving.ask(lab.address("node1"), "/load")[1])["server_load"] > 0


def begun(process, text):
    """Wait for a line of a run that goes on."""
    for line in process.stderr:
        if text in line:
            return
    pytest.fail(f"{text} was never said")


def measuring(lab):
    """What still measures for this person, and sends requests as long."""
    return [one.line for one in living(f"HOME={lab.home}") if "llama" in one.line or "benchy.py" in one.line]


def test_deploy_measures_a_lab_as_it_stands_without_an_internet_and_the_numbers_are_llama_benchys(empty):
    lab = empty
    found = lab.json("deploy", "--topology", "solo", "--limit", "node1", "--bench=smoke")["bench"]
    assert found["record"]["versions"]["text"] == "sparkops-1"
    assert found["record"]["lab"] is True
    assert list(lab.home.rglob("llama-benchy")) == [], "a cache of what was downloaded"
    raw = [entry for document in kept(lab, found["id"])["raw"] for entry in document["benchmarks"]]
    theirs = {"prefill": "pp_throughput", "decode": "tg_throughput", "peak": "peak_throughput", "ttft": "e2e_ttft"}
    assert [{name: row["metrics"][name]["mean"] for name in theirs} for row in found["rows"]] == [
        {name: entry[key]["mean"] for name, key in theirs.items()} for entry in raw
    ]
    assert found["rows"][0]["metrics"]["decode"]["mean"] > 0
    assert found["record"]["suite"]["id"] == "smoke"
    assert found["record"]["samples"][0]["node"] == "node1"


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


WRONG = (
    ("http://{api}", GPT_MODEL, "HTTP 401", "$SPARKOPS_API_KEY"),
    ("http://{api}", "nobody", "HTTP 404", "curl URL/v1/models"),
    ("http://{api}/v1/chat/completions", GPT_MODEL, "HTTP 404", "without /v1"),
    ("http://127.0.0.1:9", GPT_MODEL, "Cannot connect to host 127.0.0.1:9", "a model serves at this address"),
    ("https://{api}", GPT_MODEL, "WRONG_VERSION_NUMBER", "plain HTTP"),
    ("{website}", GPT_MODEL, "text/html", "check the port"),
    ("{website}/cut", GPT_MODEL, "an answer ended after 20 of 200 tokens", "died during the answer"),
)


def test_a_wrong_url_model_or_key_is_a_failure_with_what_to_do_and_never_a_number(served, offline, website):
    lab = served
    for url, model, reason, hint in WRONG:
        where = url.format(api=f"{lab.address('node1')}:8000", website=website)
        key = "sk-wrong" if "401" in reason else lab.key()
        asked = ("bench", "run", "--url", where, "--model", model, *ONE, *offline)
        document = lab.json(*asked, code=5, SPARKOPS_API_KEY=key)
        assert (document["ok"], document["rows"], document["record"]["raw"]) == (False, [], []), url
        assert reason in document["error"]["message"], url
        assert hint in document["error"]["hint"], url
        assert "--resume" not in document["error"]["hint"], url


def test_a_server_that_dies_in_the_middle_is_a_failure_and_no_number(served, offline):
    lab = served
    process = lab.start("bench", "run", *LONG, *offline, "--json")
    begun(process, "concurrency 1: ")
    with lab.trouble("node1", "peer-dead-health-green"):  # no request of the second point comes to its end
        lab.brings(process, lambda: asked(lab))
        lab.fault("node1", "engine-killed")
    document = lab.ended(process, 5).document
    assert (document["ok"], document["rows"]) == (False, [])
    assert "concurrency 2" in document["error"]["message"]


def test_a_run_that_is_interrupted_then_killed_leaves_no_process_and_goes_on_where_it_was(served, offline, until):
    lab = served
    words = ("bench", "run", *LONG, "--set", "concurrency=1,2,3", *offline)
    for point, number in enumerate((signal.SIGINT, signal.SIGKILL), 1):
        process = lab.start(*words)
        begun(process, f"concurrency {point}: ")
        process.send_signal(number)
        lab.ended(process, 130 if number == signal.SIGINT else -9)
        assert until(lambda: not measuring(lab)), "it would go on with its requests"
        (name,) = [one["id"] for one in lab.json("bench", "list")["records"] if one["state"] == "unfinished"]
        assert len(kept(lab, name)["raw"]) == point
        words = ("bench", "run", "--resume", name, *offline)
    raw = kept(lab, name)["raw"]
    resumed = lab.json(*words)
    assert (resumed["id"], len(resumed["rows"])) == (name, 3)
    assert kept(lab, name)["raw"][:2] == raw
    assert kept(lab, name)["versions"]["text"].startswith("file ")
