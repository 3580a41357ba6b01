"""Deployments on demand at the endpoint's program: held requests, what is started and stopped, and what goes wrong."""

import itertools
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sparkops.remote.frame import script_text
from support.front import OWN, REQUESTS, Asked, eventually
from support.sleepers import GIB, Sleepers

Made = Callable[..., Sleepers]


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Made]:
    made: list[Sleepers] = []

    def make(*names: str, **about: Any) -> Sleepers:
        made.append(Sleepers(tmp_path, *names, **about))
        return made[0]

    yield make
    for one in made:
        one.end()


def ask(one: Sleepers, model: str, key: str = "sk-anna", prefer: str = "", **body: Any) -> Asked:
    said = {"model": model, "messages": [{"role": "user", "content": "hi"}], **body}
    return one.front.ask("POST /v1/chat/completions", said, key, **({"more": {"Prefer": prefer}} if prefer else {}))


def said(answer: Asked) -> str:
    assert answer.status == 200, answer.text()
    return str(answer.json()["model"])


def test_many_requests_start_it_once_and_all_are_answered(fleet: Made) -> None:
    one = fleet("chat")
    one.front.start()
    with ThreadPoolExecutor(8) as pool:
        assert {*pool.map(lambda _: said(ask(one, "chat")), range(16))} == {"org/chat"}
    assert one.acts == ["start chat"]


def test_two_that_do_not_fit_together_take_turns(fleet: Made) -> None:
    one = fleet("chat", "coder")
    one.front.start()
    with ThreadPoolExecutor(8) as pool:
        asked = ["chat", "coder"] * 8
        assert [*pool.map(lambda name: said(ask(one, name)), asked)] == [f"org/{name}" for name in asked]
    assert one.acts[:3] in (
        ["start chat", "stop chat", "start coder"],
        ["start coder", "stop coder", "start chat"],
    )


def test_who_does_not_want_to_wait_is_told_when_to_come_again_and_finds_it_awake(fleet: Made) -> None:
    one = fleet("chat")
    (one.node / "begins").write_text("created 0")
    one.front.start()
    for _ in range(3):
        answer = ask(one, "chat", prefer="wait=0")
        assert (answer.status, int(answer.after or 0) > 0) == (503, True)
    assert eventually(lambda: one.acts == ["start chat"])
    one.put("chat", "running 0")
    assert said(ask(one, "chat")) == "org/chat"
    assert one.acts == ["start chat"]


def test_a_start_that_fails_is_told_and_stopped_and_not_tried_at_once(fleet: Made) -> None:
    one = fleet("chat")
    (one.node / "begins").write_text("running 2")
    one.engines["chat"].container = one.node / "never"
    one.front.start()
    answer = ask(one, "chat")
    assert (answer.status, "did not start" in answer.text()) == (503, True)
    assert eventually(lambda: one.acts == ["start chat", "stop chat"])
    again = ask(one, "chat")
    assert (again.status, "did not start" in again.text()) == (503, True)


def test_it_starts_when_its_memory_is_free(fleet: Made) -> None:
    one = fleet("chat")
    (one.node / "memory").write_text("100")
    one.front.start()
    assert ask(one, "chat", prefer="wait=1").status == 503
    assert one.acts == []
    (one.node / "memory").write_text(str(100 * GIB))
    assert said(ask(one, "chat")) == "org/chat"


def by_hand(one: Sleepers, verb: str, key: str = OWN, name: str = "chat") -> tuple[int, str]:
    """The code of the answer, and the state that it tells."""
    answer = one.front.ask(f"POST /v1/models/{name}/{verb}?deployment={name}", None, key)
    return answer.status, answer.json().get("state", "")


def test_by_hand_it_starts_and_sleeps_but_not_while_somebody_uses_it(fleet: Made) -> None:
    one = fleet("chat", "coder")
    one.front.start()
    assert eventually(lambda: by_hand(one, "activate", "sk-anna") == (200, "loaded"))
    assert one.acts == ["start chat"]
    assert by_hand(one, "sleep", "sk-anna")[0] == 403
    one.engines["chat"].hold = True
    stream = ask(one, "chat", stream=True)
    assert by_hand(one, "sleep")[0] == 409
    one.engines["chat"].hold = False
    assert stream.text().endswith("data: [DONE]\n\n")
    assert eventually(lambda: by_hand(one, "sleep") == (200, "asleep"))
    assert one.acts == ["start chat", "stop chat"]
    assert by_hand(one, "activate", "sk-nobody")[0] == 401
    assert by_hand(one, "activate", name="nothing")[0] == 404


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_the_script_of_the_node_asks_by_hand_until_it_is_so(fleet: Made, shell: str) -> None:
    one = fleet("chat", "coder")
    (one.root / "own key").write_text(OWN)  # as `file write` writes it, without a line break
    one.front.start()

    def run(verb: str, *key: str, model: str = "chat") -> str:
        url = f"http://127.0.0.1:{one.front.port}/v1/models/{model}?deployment={model}"
        words = [shell, "-c", script_text("ondemand"), "ondemand", verb, "--url", url, *key]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()

    own = ("--key", str(one.root / "own key"))
    assert run("activate", *own) in (
        "wait it is starting; ready in about 120 s",
        "wait it is unknown; ready in about 120 s",
    )
    assert eventually(lambda: run("activate", *own) == "ready")
    assert eventually(lambda: run("sleep", *own) == "ready")
    assert one.acts == ["start chat", "stop chat"]
    assert run("sleep") == "never wrong or missing API key"
    assert run("activate", "--key", f"{one.root}/none") == f"never {one.root}/none cannot be read"
    assert run("activate", *own, model="nothing").startswith("never there is no model nothing; ")
    one.front.end()
    assert run("activate", *own).startswith("wait the endpoint does not answer: curl: (7)")


def test_who_may_not_ask_wakes_nothing(fleet: Made) -> None:
    one = fleet("chat", "coder")
    one.put("coder", "running 0")
    keys = {"anna": {}, "bert": {"models": ("coder",)}, "old": {"expires": "2026-01-31"}, "busy": {"tokens_per_day": 1}}
    one.front.keys(**keys)
    one.front.start()
    said(ask(one, "coder", "sk-busy"))
    wanted = {"sk-bert": 403, "sk-old": 401, "sk-nobody": 401, "": 401, "sk-busy": 429}
    for (path, body), (key, status) in itertools.product(REQUESTS.items(), wanted.items()):
        assert one.front.ask(f"POST {path}", {**body, "model": "chat"}, key).status == status, (path, key)
    assert one.front.ask("POST /v1/completions", {"model": "nothing", "prompt": "x"}, "sk-anna").status == 404
    assert one.acts == []
    for path, body in REQUESTS.items():
        assert one.front.ask(f"POST {path}", {**body, "model": "chat"}, "sk-anna").status == 200, path
    assert one.acts == ["stop coder", "start chat"]


def test_the_list_of_models_says_what_is_loaded(fleet: Made) -> None:
    one = fleet("chat", "coder")
    one.put("coder", "running 0")
    one.front.start()
    told = {"chat": {"state": "asleep", "wake_seconds": 120}, "coder": {"state": "loaded"}}
    assert eventually(lambda: states(one) == told)


def test_a_name_for_what_is_loaded_wakes_one_only_if_none_is(fleet: Made) -> None:
    one = fleet("chat", "coder")
    one.put("coder", "running 0")
    one.front.start()
    assert eventually(lambda: states(one)["coder"] == {"state": "loaded"})
    assert said(ask(one, "auto")) == "org/coder"
    assert said(ask(one, "chat")) == "org/chat"
    assert said(ask(one, "auto")) == "org/chat"
    assert one.acts == ["stop coder", "start chat"]
    assert eventually(lambda: by_hand(one, "sleep") == (200, "asleep"))
    assert said(ask(one, "auto")) == "org/chat"


def states(one: Sleepers) -> dict[str, Any]:
    found = one.front.ask("GET /v1/models", key="sk-anna").json()["data"]
    shown = {it["id"]: {key: it[key] for key in ("state", "wake_seconds") if key in it} for it in found}
    return {name: shown[name] for name in one.names}


def test_what_a_person_started_is_used_as_it_is(fleet: Made) -> None:
    one = fleet("chat")
    one.put("chat", "running 0")
    one.front.start()
    assert said(ask(one, "chat")) == "org/chat"
    assert one.acts == []


def test_an_idle_one_goes_to_sleep(fleet: Made) -> None:
    one = fleet("chat", idle=1.0)
    one.front.start()
    assert said(ask(one, "chat")) == "org/chat"
    assert eventually(lambda: one.acts == ["start chat", "stop chat"])


def test_after_a_kill_it_goes_on_from_what_the_nodes_have(fleet: Made) -> None:
    one = fleet("chat", "coder")
    one.front.start()
    assert said(ask(one, "chat")) == "org/chat"
    one.front.process.kill()
    one.front.process.wait()
    one.front.log.close()
    one.front.start()
    assert said(ask(one, "chat")) == "org/chat"
    assert one.acts == ["start chat"]
    assert said(ask(one, "coder")) == "org/coder"
    assert one.acts == ["start chat", "stop chat", "start coder"]


def test_a_stream_that_waits_is_kept_alive_and_then_answered(fleet: Made) -> None:
    one = fleet("chat")
    (one.node / "begins").write_text("created 0")
    one.front.start()
    stream = ask(one, "chat", stream=True)
    assert stream.status == 200
    first = stream.answer.readline().decode()
    assert first.startswith(": chat starts, about ")
    one.put("chat", "running 0")
    assert stream.text().endswith("data: [DONE]\n\n")


def test_without_the_file_all_deployments_are_there(fleet: Made) -> None:
    one = fleet("chat")
    (one.front.routes / "ondemand/on-demand.json").unlink()
    one.put("chat", "running 0")
    one.front.start()
    assert said(ask(one, "chat")) == "org/chat"
    assert not (one.nodes / "log").exists()
