"""The module that sparkops writes beside the configuration of a fleet's endpoint: keys, models, and new routes."""

import asyncio
import hashlib
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sparklab.engine.proxy_auth import LITELLM, PROXY_SERVER, OwnCheck, ProxyException, UserAPIKeyAuth, listened
from sparkops.core.fleet.routes import ModelRoute
from sparkops.core.revision import Member
from sparkops.node_commands import gateway

ONE, TWO = (Member(name, f"192.0.2.{at}", "server", 0, 8000) for at, name in enumerate(("one", "two"), 1))


def digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def route(name: str, *servers: Member, keys: tuple[str, ...]) -> ModelRoute:
    opened = frozenset(digest(key) if key else "" for key in keys)
    return ModelRoute(name, f"served-{name}", "chat", tuple(("chat", one) for one in servers), opened)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / gateway.MODULE_FILE).write_text(gateway.MODULE)
    routers: list[SimpleNamespace] = []

    def made(**settings: Any) -> SimpleNamespace:
        routers.append(SimpleNamespace(models={one["model_name"] for one in settings["model_list"]}, gone=False))
        routers[-1].discard = lambda one=routers[-1]: setattr(one, "gone", True)
        return routers[-1]

    monkeypatch.setattr(LITELLM, "Router", made, raising=False)
    monkeypatch.setattr(PROXY_SERVER, "llm_router", made(model_list=[]), raising=False)
    return tmp_path


def check_of(folder: Path, *routes: ModelRoute) -> OwnCheck:
    (folder / gateway.CONFIG).write_text(gateway.config(routes))
    return OwnCheck(str(folder), "sparkops_gateway.check")


def sent(auth: UserAPIKeyAuth, model: str) -> str:
    """The key that the engine gets."""
    asked = listened(auth, {"model": model, "fallbacks": ["b"], "context_window_fallbacks": [{"a": ["b"]}]})
    assert set(asked) == {"model", "api_key"}
    return str(asked["api_key"])


def test_a_key_opens_the_models_of_its_deployments_and_is_handed_on(folder: Path) -> None:
    check = check_of(folder, route("a", ONE, keys=("sk-1",)), route("b", TWO, keys=("sk-2",)))
    for key, model in (("sk-1", "a"), ("sk-2", "b")):
        auth = check(None, key)
        assert list(auth.models) == [model]
        assert sent(auth, model) == key
    for wrong in ("", "sk-3", digest("sk-1")):
        with pytest.raises(ProxyException, match="wrong or missing API key"):
            check(None, wrong)


def test_a_model_of_another_key_and_one_that_is_not_there_are_told_alike(folder: Path) -> None:
    check = check_of(folder, route("a", ONE, keys=("sk-1",)), route("b", TWO, keys=("sk-2",)))
    for model in ("b", "nothing", "a@one"):
        with pytest.raises(ProxyException, match=f"no model {model} for this API key") as refused:
            sent(check(None, "sk-1"), model)
        assert refused.value.code == "404"


def test_what_needs_no_key_is_open_to_all(folder: Path) -> None:
    check = check_of(folder, route("a", ONE, keys=("sk-1",)), route("open", TWO, keys=("",)))
    for key in ("", "sk-any"):
        assert list(check(None, key).models) == ["open"]
        assert sent(check(None, key), "open") == "none"
    assert set(check(None, "sk-1").models) == {"a", "open"}


def test_a_new_configuration_routes_at_the_next_request_and_the_old_router_goes(folder: Path) -> None:
    check = check_of(folder, route("a", ONE, keys=("sk-1",)))
    before = PROXY_SERVER.llm_router
    check(None, "sk-1")
    assert PROXY_SERVER.llm_router is before, "nothing changed"
    new = (route("a", TWO, keys=("sk-2",)), route("more", ONE, keys=("sk-2",)))
    (folder / gateway.CONFIG).write_text(gateway.config(new))
    with pytest.raises(ProxyException):
        check(None, "sk-1")
    assert (before.gone, PROXY_SERVER.llm_router.gone) == (True, False)
    assert {"a", "more"} <= PROXY_SERVER.llm_router.models
    assert set(check(None, "sk-2").models) == {"a", "more"}


def test_a_configuration_that_cannot_be_read_changes_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check = check_of(folder, route("a", ONE, keys=("sk-1",)))
    before = PROXY_SERVER.llm_router
    for text in ("{", "[]", '{"sparkops": {"models": {}}}'):
        (folder / gateway.CONFIG).write_text(text)
        assert list(check(None, "sk-1").models) == ["a"]
        assert PROXY_SERVER.llm_router is before
        assert "keeps its routes" in capsys.readouterr().out


def test_the_configuration_has_no_key_and_no_id_twice() -> None:
    text = gateway.config((route("a", ONE, TWO, keys=("sk-1",)), route("auto", ONE, TWO, keys=("sk-1",))))
    assert "sk-1" not in text
    ids = [one["model_info"]["id"] for one in json.loads(text)["model_list"]]
    assert len(ids) == len(set(ids)) == 8


def test_requests_at_the_same_time_do_not_mix_their_keys(folder: Path) -> None:
    check = check_of(folder, route("a", ONE, keys=("sk-1", "sk-2")))
    first, second = check(None, "sk-1"), check(None, "sk-2")
    (hook,) = LITELLM.callbacks

    async def both() -> list[dict[str, Any]]:
        asks = (hook.async_pre_call_hook(auth, None, {"model": "a"}, "completion") for auth in (first, second))
        return list(await asyncio.gather(*asks))

    assert [one["api_key"] for one in asyncio.run(both())] == ["sk-1", "sk-2"]
