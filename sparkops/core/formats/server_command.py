"""Which command of a script starts vLLM, and what stands before it: variables, wrappers, shells."""

import re
from collections.abc import Sequence
from itertools import dropwhile

from sparkops.core.formats.shell import CommandError, Simple, Word, commands

SHELLS = ("bash", "sh", "dash")
SERVER_MODULES = ("vllm.entrypoints.openai.api_server", "vllm.entrypoints.cli.main")
WRAPPERS = ("taskset", "numactl", "nice", "ionice", "nohup", "time", "stdbuf", "chrt", "sudo", "uv")
HARMLESS = ("set", "export", "exec", "true", ":", "ulimit", "umask", "echo", "printf", "sleep", "date")
KEYWORDS = ("if", "then", "else", "elif", "while", "until", "do", "for", "case", "{", "!")
"""Words of the shell's own language, which no program of an image has as its name."""

ON_THE_PATH = ("", "/usr/bin", "/usr/local/bin")
_ASSIGNED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_ENTRYPOINT = re.compile(r"vllm|entrypoint", re.IGNORECASE)
_INTERPRETER = re.compile(r"-[BEIOSsu]+")
_DEEPEST = 3

Assigned = list[tuple[str, Word, str]]
"""Variables: name, word and value."""

PROGRAMS = {
    "sglang": "SGLang",
    "sglang.launch_server": "SGLang",
    "llama-server": "llama.cpp",
    "llama-cli": "llama.cpp",
    "trtllm-serve": "TensorRT-LLM",
    "mpirun": "TensorRT-LLM",
    "atlas": "Atlas",
    "ollama": "Ollama",
    "tritonserver": "Triton",
    "text-generation-launcher": "TGI",
    "lmdeploy": "LMDeploy",
    "max": "MAX",
    "uvicorn": "another HTTP server",
}


def opened(simples: list[Simple], depth: int = 0) -> list[Simple]:
    """The commands inside `bash -c '…'`, if that is the only command."""
    if len(simples) == 1 and depth < _DEEPEST:
        words = simples[0].words
        inner = [word for word in words[1:] if not word.text.startswith("-")]
        if words and words[0].text.rpartition("/")[2] in SHELLS and len(inner) == 1 and words[-1] is inner[0]:
            return opened(commands(inner[0].text), depth + 1)
    return simples


def server(simples: Sequence[Simple]) -> tuple[int, list[Word], Assigned]:
    """The server: the index of its command, its words without prefixes, and the variables set there."""
    starts = []
    for index, simple in enumerate(simples):
        before, words = leading(simple.words)
        if words and (rest := _served(_unwrapped(words)) or _wrapped(words)) is not None:
            starts.append((index, rest, before))
    if len(starts) > 1:
        raise CommandError("starts more than one vLLM server", starts[1][1][0].line)
    if not starts:
        raise _other(simples)
    return starts[0]


def leading(words: list[Word]) -> tuple[Assigned, list[Word]]:
    """Variables before a command's own name, and the command without them, `exec` and `env`."""
    before: Assigned = []
    for index, word in enumerate(words):
        match = _ASSIGNED.fullmatch(word.text)
        if match:
            before.append((match[1], word, match[2]))
        elif word.text not in ("exec", "env"):
            return before, words[index:]
    return before, []


def _unwrapped(words: list[Word]) -> list[Word]:
    """A command without a wrapper such as `taskset -c 1-4`."""
    if words[0].text.rpartition("/")[2] not in WRAPPERS:
        return words
    starts = (index for index, word in enumerate(words) if word.text.rpartition("/")[2] == "vllm")
    return words[next(starts, 0) :]


def _served(words: list[Word]) -> list[Word] | None:
    """The words as `vllm serve …`, also for `python -m vllm…`; None for another command."""
    place, _, name = words[0].text.rpartition("/")
    if name == "vllm" and len(words) > 1 and words[1].text == "serve":
        return [Word("vllm", words[0].line), *words[1:]] if place in ON_THE_PATH else words
    given = list(dropwhile(lambda word: _INTERPRETER.fullmatch(word.text), words[1:]))
    if re.fullmatch(r"python[0-9.]*", name) and len(given) > 1 and given[0].text == "-m":
        module, rest = given[1].text, given[2:]
        serve = rest[:1] if module == SERVER_MODULES[1] and rest and rest[0].text == "serve" else []
        if module == SERVER_MODULES[0] or serve:
            return [Word("vllm", words[0].line), Word("serve", words[0].line), *rest[len(serve) :]]
    return None


def _wrapped(words: list[Word]) -> list[Word] | None:
    """The words if a program of the image starts the engine: `… vllm serve …`, or as in `x-vllm-entrypoint serve …`."""
    texts = [word.text for word in words]
    names = [text.rpartition("/")[2] for text in texts]
    if names[0] in (*HARMLESS, *PROGRAMS, *KEYWORDS) or names[0].startswith("-") or "serve" not in texts[1:]:
        return None
    serve = texts.index("serve", 1)
    own = serve == 1 and _ENTRYPOINT.search(names[0])
    plain = not any(word.expands for word in words[: serve + 1])
    return words if plain and (own or names[serve - 1] == "vllm") else None


def _other(simples: Sequence[Simple]) -> CommandError:
    """What the command starts instead of vLLM."""
    started = (leading(simple.words)[1] for simple in simples)
    ran = [words for words in started if words and words[0].text not in HARMLESS]
    if not ran:
        return CommandError("starts no program")
    for words in ran:
        for word in words[:3]:
            if (known := PROGRAMS.get(word.text.rpartition("/")[2])) is not None:
                said = f"starts {shortened(word.text)}: the recipe serves with {known}; sparkops serves with vLLM only"
                return CommandError(said, word.line)
    said = shortened(" ".join(word.text for word in ran[-1]))
    return CommandError(f"starts `{said}`, not `vllm serve`; sparkops serves with vLLM only", ran[-1][0].line)


def assigned(simple: Simple) -> Assigned:
    """Variables that a command sets: before its own name, or by `export`."""
    given, words = leading(simple.words)
    if words and words[0].text == "export":
        matches = [(word, _ASSIGNED.fullmatch(word.text)) for word in words[1:]]
        given += [(match[1], word, match[2]) for word, match in matches if match]
    return given


def shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
