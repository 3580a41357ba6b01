"""The OpenAI-compatible server of the emulated engine."""

import json
import time
import uuid
from collections.abc import Iterator
from typing import Any

from sparklab.engine import failures, log
from sparklab.engine.http import Handler, event
from sparklab.engine.metrics import Metrics
from sparklab.engine.ranks import Ranks
from sparklab.engine.settings import Settings

WORDS = (
    "Paris", " is", " the", " capital", " of", " France", ",", " as", " this", " emulated", " engine", " says", ".",
)  # fmt: skip
TOKEN_SECONDS = 0.004
PREFILL_SECONDS = 1 / 2000
"""For each token of a prompt, before anything is sent, as vLLM does; slow enough to be seen beside the network."""
HANG_CHECK = 0.2


class Engine:
    """What all connections share."""

    def __init__(self, settings: Settings, ranks: Ranks, version: str) -> None:
        self.settings = settings
        self.ranks = ranks
        self.version = version
        self.metrics = Metrics(settings.names[0])
        self.created = int(time.time())
        self.dead = False


def handler(engine: Engine) -> type[Handler]:
    """A handler class bound to one engine."""
    return type("EngineHandler", (EngineHandler,), {"engine": engine})


class EngineHandler(Handler):
    engine: Engine

    def do_GET(self) -> None:
        engine = self.engine
        if not self._allowed():
            return
        match self.route:
            case "/health" | "/ping":
                self.reply(503 if engine.dead else 200, "", "text/plain; charset=utf-8")
            case "/version":
                self.reply(200, {"version": engine.version})
            case "/metrics":
                self.reply(200, engine.metrics.text(), "text/plain; version=1.0.0; charset=utf-8")
            case "/load":
                self.reply(200, {"server_load": engine.metrics.running})
            case "/v1/models":
                self.reply(200, {"object": "list", "data": [self._model(name) for name in engine.settings.names]})
            case "/v1/completions" | "/v1/chat/completions":
                self.reply(405, {"detail": "Method Not Allowed"})
            case _:
                self.reply(404, {"detail": "Not Found"})

    def do_POST(self) -> None:
        body = self.body()
        if not self._allowed():
            return
        match self.route, body:
            case "/ping", _:
                self.reply(200, "")
            case "/v1/completions" | "/v1/chat/completions", None:
                message = "[{'type': 'json_invalid', 'loc': ('body', 1), 'msg': 'JSON decode error'}]"
                self._refuse(400, "BadRequestError", message)
            case "/v1/completions" | "/v1/chat/completions" as route, dict(asked):
                self._complete(asked, chat="chat" in route)
            case _:
                self.reply(404, {"detail": "Not Found"})

    def _allowed(self) -> bool:
        keys = self.engine.settings.api_keys
        if self.route.startswith("/v1") and keys and self.bearer not in keys:
            self.reply(401, {"error": "Unauthorized"})
            return False
        return True

    def _model(self, name: str) -> dict[str, Any]:
        settings = self.engine.settings
        return {
            "id": name,
            "object": "model",
            "created": self.engine.created,
            "owned_by": "vllm",
            "root": settings.model,
            "parent": None,
            "max_model_len": settings.context,
            "permission": [],
        }

    def _refuse(self, code: int, kind: str, message: str, param: str | None = None) -> None:
        self.reply(code, {"error": {"message": message, "type": kind, "param": param, "code": code}})

    def _complete(self, body: dict[str, Any], chat: bool) -> None:
        engine, settings = self.engine, self.engine.settings
        model = body.get("model") or settings.names[0]
        if model not in settings.names:
            aliases = ", ".join(settings.names)
            message = f"The model `{model}` does not exist. Valid aliases: {aliases}."
            self._refuse(404, "NotFoundError", message, "model")
            return
        if chat and (trace := failures.chat(settings)):
            log.Speaker("APIServer").error("serving.py:311", trace)
            self._refuse(500, "InternalServerError", trace)
            return
        prompt = _tokens(body, chat)
        if told := _too_long(prompt, _limit(body) or 1, settings.context):
            self._refuse(400, "BadRequestError", told)
            return
        while engine.ranks.graphs_hang():  # vLLM counts a request only after its first step
            time.sleep(HANG_CHECK)
        engine.metrics.add("vllm:num_requests_running", 1)
        try:
            while engine.ranks.unnoticed():
                time.sleep(HANG_CHECK)
            self._generate(Answer(engine, body, chat, prompt))
        finally:
            engine.metrics.add("vllm:num_requests_running", -1)

    def _generate(self, answer: "Answer") -> None:
        engine, began = self.engine, time.monotonic()
        engine.metrics.add("vllm:prompt_tokens_total", answer.prompt)
        engine.metrics.add("vllm:prefix_cache_queries_total", answer.prompt)
        time.sleep(engine.settings.node.seconds(answer.prompt * PREFILL_SECONDS))
        if answer.body.get("stream"):
            self.stream(answer.events())
        else:
            self.reply(200, answer.whole())
        engine.metrics.done(answer.reason, TOKEN_SECONDS, time.monotonic() - began)


class Answer:
    """One request's tokens, whole or as events."""

    def __init__(self, engine: Engine, body: dict[str, Any], chat: bool, prompt: int) -> None:
        self.engine, self.body, self.chat, self.prompt = engine, body, chat, prompt
        limit = min(_limit(body) or (len(WORDS) if chat else 16), engine.settings.context - prompt)
        stops = limit > len(WORDS) and not body.get("ignore_eos")
        self.count, self.reason = (len(WORDS), "stop") if stops else (limit, "length")
        self.head = {
            "id": ("chatcmpl-" if chat else "cmpl-") + uuid.uuid4().hex,
            "created": int(time.time()),
            "model": body.get("model") or engine.settings.names[0],
        }
        self.usage = {"prompt_tokens": prompt, "total_tokens": prompt + self.count, "completion_tokens": self.count}

    def _pieces(self) -> Iterator[str]:
        for place in range(self.count):
            time.sleep(self.engine.settings.node.seconds(TOKEN_SECONDS))
            self.engine.metrics.add("vllm:generation_tokens_total", 1)
            yield WORDS[place % len(WORDS)]

    def whole(self) -> dict[str, Any]:
        text = "".join(self._pieces())
        choice: dict[str, Any] = {"index": 0, "logprobs": None, "finish_reason": self.reason, "stop_reason": None}
        if self.chat:
            empty: dict[str, Any] = {"refusal": None, "reasoning": None, "tool_calls": []}
            choice["message"] = {"role": "assistant", "content": text, **empty}
        else:
            choice["text"] = text
        kind = "chat.completion" if self.chat else "text_completion"
        return {**self.head, "object": kind, "choices": [choice], "usage": self.usage}

    def events(self) -> Iterator[bytes]:
        if self.chat:
            yield self._event(self._choice({"delta": {"role": "assistant", "content": ""}}, None))
        for place, piece in enumerate(self._pieces(), start=1):
            part = {"delta": {"content": piece}} if self.chat else {"text": piece}
            yield self._event(self._choice(part, self.reason if place == self.count else None))
        if (self.body.get("stream_options") or {}).get("include_usage"):
            yield self._event(usage=self.usage)
        yield b"data: [DONE]\n\n"

    def _choice(self, part: dict[str, Any], reason: str | None) -> dict[str, Any]:
        return {"index": 0, **part, "logprobs": None, "finish_reason": reason}

    def _event(self, *choices: dict[str, Any], **more: Any) -> bytes:
        kind = "chat.completion.chunk" if self.chat else "text_completion"
        return event({**self.head, "object": kind, "choices": choices, **more})


def _limit(body: dict[str, Any]) -> int:
    """The most tokens that the client asks for; 0 without a wish."""
    return int(body.get("max_tokens") or body.get("max_completion_tokens") or 0)


def _too_long(prompt: int, answer: int, context: int) -> str:
    """vLLM's refusal, empty if the request fits."""
    if prompt + answer <= context:
        return ""
    return (
        f"This model's maximum context length is {context} tokens. However, you requested {answer} output tokens and "
        f"your prompt contains at least {prompt} input tokens, for a total of at least {prompt + answer} tokens. "
        "Please reduce the length of the input prompt or the number of requested output tokens."
    )


def _tokens(body: dict[str, Any], chat: bool) -> int:
    """A token is a byte, as in the lab's `tokenizer.json`; a message has four more."""
    if chat:
        texts = [message.get("content") or "" for message in body.get("messages", []) if isinstance(message, dict)]
        return sum(_bytes(text) + 4 for text in texts)
    prompt = body.get("prompt", "")
    if isinstance(prompt, list) and prompt and isinstance(prompt[0], int):
        return len(prompt)
    return max(1, _bytes(prompt))


def _bytes(text: Any) -> int:
    return len((text if isinstance(text, str) else json.dumps(text)).encode())
