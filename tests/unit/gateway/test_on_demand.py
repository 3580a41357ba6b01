"""Deployments on demand at the endpoint's program: held requests, what is started and stopped, and what goes wrong."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from support.front import Asked, eventually
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


def test_the_list_of_models_says_what_is_loaded(fleet: Made) -> None:
    one = fleet("chat", "coder")
    one.put("coder", "running 0")
    one.front.start()
    told = {"chat": {"state": "asleep", "wake_seconds": 120}, "coder": {"state": "loaded"}}
    assert eventually(lambda: states(one) == told)


def states(one: Sleepers) -> dict[str, Any]:
    found = one.front.ask("GET /v1/models", key="sk-anna").json()["data"]
    return {it["id"]: {key: it[key] for key in ("state", "wake_seconds") if key in it} for it in found}


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
