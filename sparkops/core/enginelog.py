"""The boot phase that a vLLM log has reached. `core/diagnosis.py` finds what went wrong.

Patterns match messages, not prefixes: those differ by version, process and executor. The log is read from its end,
so the latest known line counts.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MET = r"sparkops: all \d+ ranks are here"

_UNPRINTED = re.compile(
    r"\x1b\[[0-9;]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f]"
)
_BACKEND = re.compile(r"\b[Uu]sing (?:FlashInfer )?'?(\w+)'?(?: \w+)* backend")


@dataclass(frozen=True)
class BootPhase:
    """`name` is stable, `percent` is of the whole boot, `text` is for people."""

    name: str
    percent: int
    text: str


@dataclass(frozen=True)
class _Mark:
    """One line of a boot. With `end`, the percentage in the line is scaled to `start..end`."""

    name: str
    start: int
    pattern: str
    text: str
    end: int | None = None


_LOADER = r"(?:(?:fast)?safetensors )?(?:checkpoint shards|using \w[\w ]* loader|using Runai Model Streamer)"

MARKS = (
    _Mark("ready", 100, r"Application startup complete", "its API is up"),
    _Mark("http", 98, r"Starting vLLM (?:API )?server", "opening the API port"),
    _Mark("warm", 97, r"init engine \(profile, create kv cache, warmup model\) took ([\d.]+) s", "warmed up"),
    _Mark("capture", 96, r"Graph capturing finished in (\d+) secs", "captured CUDA graphs in {0} s"),
    _Mark(
        "capture",
        85,
        r"Capturing CUDA graph(?:s \(([^)]*)\)|( shapes)):\s+(?P<percent>\d+)%",
        "capturing CUDA graphs",
        95,
    ),
    _Mark("cache", 82, r"[CG]PU KV cache size: ([\d,]+) tokens", "KV cache has room for {0} tokens"),
    _Mark("cache", 82, r"Available KV cache memory: ([\d.]+) GiB", "{0} GiB for the KV cache"),
    _Mark(
        "compile", 80, r"torch\.compile(?: and initial profiling run)? took ([\d.]+) s in total", "compiled in {0} s"
    ),
    _Mark("compile", 78, r"Directly load the compiled graph|saved AOT compiled function", "compiled"),
    _Mark("compile", 74, r"Compiling a graph for compile range", "compiling"),
    _Mark("compile", 70, r"Dynamo bytecode transform time", "compiling"),
    _Mark("compile", 65, r"Using cache directory: .* for vLLM's torch\.compile", "compiling"),
    _Mark("weights", 62, r"Model loading took ([\d.]+) GiB", "weights loaded, {0} GiB"),
    _Mark("weights", 60, r"Loading weights took ([\d.]+) seconds", "weights loaded in {0} s"),
    _Mark("weights", 10, rf"Loading {_LOADER}:\s+(?P<percent>\d+)% Completed \| (\d+/\d+)", "loading weights", 60),
    _Mark("weights", 10, r"Starting to load model", "loading weights"),
    _Mark("ranks", 9, r"rank \d+ in world size (\d+) is assigned", "{0} ranks are connected"),
    _Mark("ranks", 8, r"world_size=(\d+) rank=\d+ .*distributed_init_method", "waiting for {0} ranks to connect"),
    _Mark(
        "nodes",
        6,
        r"Waiting for creating a placement group of specs for (\d+) seconds",
        "waiting for nodes with GPUs ({0} s so far)",
    ),
    _Mark("nodes", 6, r"Creating a new placement group|Connected to Ray cluster", "joining Ray"),
    _Mark("engine", 5, r"Initializing a V1 LLM engine", "starting the engine"),
    _Mark("config", 3, r"Resolved architecture: (\w+)", "reading the model's configuration"),
    _Mark("config", 1, r"non-default args: \{", "starting vLLM"),
    _Mark("joined", 0, r"sparkops: Ray has all (\d+) nodes", "Ray has all {0} nodes"),
    _Mark("ray", 0, r"sparkops: Ray has (\d+) of (\d+) nodes", "Ray has {0} of {1} nodes"),
    _Mark("ray", 0, r"sparkops: waiting for (the Ray head|the fabric address \S+)", "waiting for {0}"),
    _Mark("ray", 0, r"sparkops: joining the Ray head", "joining the Ray head"),
    _Mark("joined", 0, r"Ray runtime started", "Ray runs on this node"),
    _Mark("joined", 0, r"sparkops: all (\d+) ranks are here", "all {0} ranks are here"),
    _Mark("meet", 0, r"sparkops: (\d+) of (\d+) ranks are here", "{0} of {1} ranks are here"),
    _Mark("meet", 0, r"sparkops: cannot listen at (\S+): ", "cannot listen at {0}"),
    _Mark("meet", 0, r"sparkops: waiting for (rank \d+ at \S+)", "waiting for {0}"),
    _Mark("meet", 0, r"sparkops: rank \d+ at \S+ waits for other ranks", "waiting for other ranks"),
    _Mark("gone", 0, r"sparkops: rank (\d+) at (\S+) is gone", "rank {0} at {1} is gone"),
    _Mark(
        "graphs",
        0,
        r"sparkops: CUDA graphs (?:hang in the first replay: |hung with this image before|are switched off)",
        "CUDA graphs hang with this image; the engine starts without them",
    ),
    _Mark(
        "turn",
        0,
        r"sparkops: waiting for another engine of this node to load",
        "waiting for another engine of this node to load",
    ),
    _Mark("again", 0, r"sparkops: start (\d+) of (\d+) in (\d+) seconds", "failed; start {0} of {1} follows in {2} s"),
    _Mark("again", 0, r"sparkops: gave up after (\d+) failed starts", "gave up after {0} failed starts"),
)


def messages(lines: Iterable[str]) -> Iterator[str]:
    """The log's lines without what a terminal obeys; a progress bar rewrites its line behind a carriage return."""
    for line in lines:
        for part in _UNPRINTED.sub("", line).split("\r"):
            if part.strip():
                yield part.rstrip()


def progress(lines: Iterable[str]) -> BootPhase | None:
    """The latest known phase in these lines, or None if no line is known."""
    for message in reversed(list(messages(lines))):
        for mark in MARKS:
            if found := re.search(mark.pattern, message):
                return _phase(mark, found)
    return None


def since_meeting(log: str) -> list[str]:
    """The lines since all ranks of executor mp met last; what is above has another cause."""
    return re.split(rf"{MET}\n", log)[-1].splitlines()


def mxfp4_backend(lines: Iterable[str]) -> str | None:
    """The kernels of an MXFP4 model's experts, as vLLM names them in the last line about a backend.

    The mxfp4 image logs Marlin for its dense layers too, so other lines do not count.
    """
    found = (_BACKEND.search(message) for message in messages(lines) if "mxfp4" in message.lower())
    names = [match[1].upper() for match in found if match]
    return names[-1] if names else None


def _phase(mark: _Mark, found: re.Match[str]) -> BootPhase:
    if mark.end is None:
        return BootPhase(mark.name, mark.start, mark.text.format(*found.groups()))
    inner = int(found["percent"])
    return BootPhase(mark.name, mark.start + (mark.end - mark.start) * inner // 100, f"{mark.text} {inner}%")
