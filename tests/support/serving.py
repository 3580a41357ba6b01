"""Engines on lab nodes as a launcher starts them, by plain `docker run`, and requests to them from outside."""

import json
import shlex
import threading
import urllib.error
import urllib.request
from collections import Counter

GPT = "openai/gpt-oss-120b"
QWEN = "Qwen/Qwen3-Next-80B-A3B-Instruct-FP8"
MXFP4 = "vllm-node-mxfp4"
STOCK = "vllm-node"
MXFP4_FLAGS = ("--quantization", "mxfp4", "--mxfp4-backend", "CUTLASS", "--mxfp4-layers", "moe,qkv,o")
SMALL = ("--max-model-len", "4096", "--gpu-memory-utilization", "0.7", "--enforce-eager")
TIKTOKEN = {"TIKTOKEN_RS_CACHE_DIR": "/root/.cache/tiktoken_rs"}
PROXY_PORT, PROXY_KEY, PROXY_NAME = 4000, "sk-master", "gpt-oss-120b"
BACKEND = {"LITELLM_MASTER_KEY": PROXY_KEY, "BACKEND_KEY": "sk-backend"}
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def run(client, name, image, words, env=None, options=()):
    """A container whose first process is the words; the node's model cache is mounted."""
    given = {"HF_HUB_OFFLINE": "1"} | (TIKTOKEN if env is None else env)
    pairs = [word for key, value in given.items() for word in ("-e", f"{key}={value}")]
    head = shlex.join(["docker", "run", "-d", "--name", name, "--network", "host", "--ipc", "host", "--gpus", "all"])
    cache = '-v "$HOME/.cache/huggingface:/root/.cache/huggingface"'
    rest = shlex.join([*options, *pairs, "--entrypoint=", image, *words])
    done = client.run(f"{head} {cache} {rest}")
    assert done.code == 0, done.err


def serve(client, image, model, *flags, env=None, name="e", options=()):
    run(client, name, image, ["vllm", "serve", model, "--host", "0.0.0.0", *flags], env, options)


def log(client, name="e"):
    done = client.run(f"docker logs {name} 2>&1")
    return done.out


def ended(client, name="e"):
    """The exit code once it has ended, else None."""
    status, code = client.run(
        f"docker inspect --format '{{{{.State.Status}}}} {{{{.State.ExitCode}}}}' {name}"
    ).out.split()
    return int(code) if status == "exited" else None


def request(url, body=None, key=None, timeout=60):
    """(status, text) of one request from outside the nodes; 0 and why where nobody answered."""
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    if key:
        asked.add_header("Authorization", f"Bearer {key}")
    try:
        with OPENER.open(asked, timeout=timeout) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
    except OSError as error:
        return 0, str(error)


def ask(address, path, body=None, key=None, port=8000, timeout=60):
    return request(f"http://{address}:{port}{path}", body, key, timeout)


class Client(threading.Thread):
    """New requests to one API, one after the other and none of them a stream, while it is entered."""

    def __init__(self, url, key, pause=0.05):
        super().__init__(daemon=True)
        self.url, self.key, self.pause = url, key, pause
        self.answers, self.enough = Counter(), threading.Event()

    def run(self):
        body = {"model": GPT, "prompt": "Hello", "max_tokens": 2}
        while not self.enough.wait(self.pause):
            code, text = request(f"{self.url}/completions", body, self.key, timeout=300)
            whole = code == 200 and json.loads(text)["choices"]
            self.answers["whole" if whole else f"{code} {text[:300]}"] += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.enough.set()
        self.join(310)


def healthy(address, port=8000):
    return ask(address, "/health", port=port)[0] == 200


def chat(address, model=GPT, key=None, port=8000, **more):
    body = {"model": model, "messages": [{"role": "user", "content": "hello"}], "max_tokens": 4, **more}
    return ask(address, "/v1/chat/completions", body, key, port)


def proxy_config(addresses, **router):
    """LiteLLM's configuration for gpt-oss behind these addresses."""
    models = [
        {
            "model_name": PROXY_NAME,
            "litellm_params": {
                "model": f"hosted_vllm/{GPT}",
                "api_base": f"http://{address}:8000/v1",
                "api_key": "os.environ/BACKEND_KEY",
            },
            "model_info": {"id": f"spark-{number}"},
        }
        for number, address in enumerate(addresses, start=1)
    ]
    settings = {"routing_strategy": "simple-shuffle", "num_retries": 2, "timeout": 60, "cooldown_time": 1, **router}
    general = {"master_key": "os.environ/LITELLM_MASTER_KEY"}
    return {"model_list": models, "router_settings": settings, "general_settings": general}


def ask_proxy(address, path, key=PROXY_KEY):
    return ask(address, path, key=key, port=PROXY_PORT)


def chat_proxy(address, key=PROXY_KEY, **more):
    return chat(address, PROXY_NAME, key, PROXY_PORT, **more)


def served(address):
    """How many requests an engine has answered to their end."""
    lines = ask(address, "/metrics")[1].splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith("vllm:request_success_total"))
