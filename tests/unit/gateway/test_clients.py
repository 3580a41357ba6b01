"""The clients that people use: OpenAI's, Anthropic's and LangChain's, as their registries have them."""

import anthropic
import openai
import pytest
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from support.front import Engine, Front, eventually

HELLO = "Hello"


@pytest.fixture
def url(front: Front) -> str:
    front.keys(anna={}, bob={"models": ("auto",), "tokens_per_day": 1})
    assert eventually(lambda: front.ask("GET /v1/models", key="sk-bob").status == 200)
    return f"http://127.0.0.1:{front.port}"


def test_openai(front: Front, url: str) -> None:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="sk-anna", max_retries=0) as client:
        assert [one.id for one in client.models.list()] == ["auto", "coder"]
        asked = {"model": "coder", "messages": [{"role": "user", "content": HELLO}]}
        whole = client.chat.completions.create(**asked)  # type: ignore[call-overload]
        assert (whole.choices[0].message.content, whole.usage.completion_tokens) == ("Paris", 3)
        with client.chat.completions.create(**asked, stream=True) as stream:  # type: ignore[call-overload]
            assert "".join(one.choices[0].delta.content for one in stream) == "abc"
        assert client.embeddings.create(model="auto", input=HELLO).data[0].embedding == [0.5, 0.25]


def test_openai_is_refused_in_its_own_words(front: Front, url: str) -> None:
    asked = {"messages": [{"role": "user", "content": HELLO}]}
    for key, model, kind in (
        ("sk-nobody", "auto", openai.AuthenticationError),
        ("sk-bob", "coder", openai.PermissionDeniedError),
        ("sk-anna", "gpt-9", openai.NotFoundError),
    ):
        with openai.OpenAI(base_url=f"{url}/v1", api_key=key, max_retries=0) as client, pytest.raises(kind):
            client.chat.completions.create(model=model, **asked)  # type: ignore[call-overload]
    with openai.OpenAI(base_url=f"{url}/v1", api_key="sk-bob", max_retries=0) as client:
        client.chat.completions.create(model="auto", **asked)  # type: ignore[call-overload]
        with pytest.raises(openai.RateLimitError) as refused:
            client.chat.completions.create(model="auto", **asked)  # type: ignore[call-overload]
    assert int(refused.value.response.headers["Retry-After"]) > 0


def test_anthropic(front: Front, engine: Engine, url: str) -> None:
    message = {"role": "user", "content": HELLO}
    with anthropic.Anthropic(base_url=url, api_key="sk-anna", max_retries=0) as client:
        assert [one.id for one in client.models.list()] == ["auto", "coder"]
        whole = client.messages.create(model="coder", max_tokens=5, messages=[message])  # type: ignore[list-item]
        assert whole.usage.output_tokens == 3
        with client.messages.stream(model="coder", max_tokens=5, messages=[message]) as stream:  # type: ignore[list-item]
            assert "".join(stream.text_stream) == "Paris"
    assert eventually(lambda: front.usage().get("anna", {}).get("tokens_out") == 6)
    with (
        anthropic.Anthropic(base_url=url, auth_token="sk-nobody", api_key=None, max_retries=0) as client,
        pytest.raises(anthropic.AuthenticationError),
    ):
        client.messages.create(model="coder", max_tokens=5, messages=[message])  # type: ignore[list-item]
    assert len(engine.asked) == 2


def test_anthropic_is_told_that_its_key_was_revoked(front: Front, engine: Engine, url: str) -> None:
    engine.hold, message = True, {"role": "user", "content": HELLO}
    with (
        anthropic.Anthropic(base_url=url, auth_token="sk-anna", api_key=None, max_retries=0) as client,
        client.messages.stream(model="coder", max_tokens=5, messages=[message]) as stream,  # type: ignore[list-item]
    ):
        front.keys(bob={})
        with pytest.raises(anthropic.APIStatusError, match="this API key was revoked"):
            list(stream)


def test_langchain(front: Front, url: str) -> None:
    model = ChatOpenAI(model="coder", base_url=f"{url}/v1", api_key=SecretStr("sk-anna"), max_retries=0)
    assert model.invoke(HELLO).content == "Paris"
    assert "".join(str(one.content) for one in model.stream(HELLO)) == "abc"
