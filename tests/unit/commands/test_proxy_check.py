"""Who may ask the proxy: the module that sparkops writes beside the configuration, in LiteLLM's place for it."""

import json
from pathlib import Path

import pytest

from sparklab.engine.proxy_auth import OwnCheck, ProxyException
from sparkops.node_commands import proxy


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "sparkops_auth.py").write_text(proxy.AUTH)
    (tmp_path / "proxy.yml").write_text(json.dumps({"model_list": [{"model_name": "m"}]}))
    monkeypatch.setenv("LITELLM_MASTER_KEY", "sk-right")
    return tmp_path


def test_with_a_key_only_the_right_one_is_accepted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = OwnCheck(str(folder), "sparkops_auth.check")
    check(None, "sk-right")
    for wrong in ("", "sk-wrong"):
        with pytest.raises(ProxyException, match="wrong or missing API key"):
            check(None, wrong)
    monkeypatch.delenv("LITELLM_MASTER_KEY")
    with pytest.raises(ProxyException):
        check(None, "sk-right")


def test_without_a_key_everyone_is_accepted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LITELLM_MASTER_KEY")
    for key in ("", "sk-any"):
        OwnCheck(str(folder), "sparkops_auth.anyone")(None, key)
