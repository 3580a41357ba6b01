"""One question to an OpenAI-compatible endpoint: `ask.py QUESTION`, endpoint and key from the usual variables."""

import json
import os
import sys
import urllib.request
from typing import Any


def call(path: str, body: dict[str, Any] | None = None) -> Any:
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"].rstrip("/") + path,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}", "Content-Type": "application/json"},
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=60) as answer:
        return json.load(answer)


def main(question: str) -> None:
    model = call("/models")["data"][0]["id"]
    messages = [{"role": "user", "content": question}]
    reply = call("/chat/completions", {"model": model, "max_tokens": 40, "messages": messages})
    sys.stdout.write(f"{model}: {reply['choices'][0]['message']['content']}\n")


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]) or "Say hello.")
