"""The suites as data: which prompts, answers and concurrencies a benchmark asks for, and where each comes from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product


@dataclass(frozen=True)
class Point:
    """One measured setting: tokens of prompt, answer and preceding context (depth); concurrent requests."""

    prompt: int
    answer: int
    depth: int
    concurrency: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """What must be equal for two points to differ in concurrency only."""
        return self.prompt, self.answer, self.depth

    def __str__(self) -> str:
        depth = f" after {self.depth} tokens of context" if self.depth else ""
        return f"prompt {self.prompt}{depth}, answer {self.answer}, concurrency {self.concurrency}"


SIZES = (("prompt", "prompt"), ("answer", "answer"), ("depth", "context"))
"""Sizes of a point, and their labels."""


def shared(points: Sequence[Point]) -> tuple[tuple[tuple[str, str], ...], str]:
    """Sizes that differ between points (name, label), for columns of a table; and the others as text."""
    vary = tuple((name, title) for name, title in SIZES if len({getattr(point, name) for point in points}) > 1)
    same = [(title, getattr(points[0], name)) for name, title in SIZES if (name, title) not in vary]
    return vary, ", ".join(f"{title} {value}" for title, value in same if value)


@dataclass(frozen=True)
class Suite:
    """Every combination of these is measured `runs` times."""

    id: str
    title: str
    source: str
    prompts: tuple[int, ...]
    answers: tuple[int, ...]
    concurrency: tuple[int, ...] = (1,)
    depths: tuple[int, ...] = (0,)
    runs: int = 3
    prefix_caching: bool = False

    @property
    def points(self) -> Iterator[Point]:
        """In llama-benchy's order: depth, prompt, answer, concurrency."""
        for depth, prompt, answer, count in product(self.depths, self.prompts, self.answers, self.concurrency):
            yield Point(prompt, answer, depth, count)

    def only(self, point: Point) -> "Suite":
        """This suite reduced to one point."""
        return replace(
            self,
            prompts=(point.prompt,),
            answers=(point.answer,),
            depths=(point.depth,),
            concurrency=(point.concurrency,),
        )

    def within(self, context: int) -> "Suite | None":
        """The part whose requests, with their answers, fit into this many tokens; None if none does."""
        answer = max(self.answers)
        prompts = tuple(prompt for prompt in self.prompts if min(self.depths) + prompt + answer <= context)
        if not prompts:
            return None
        depths = tuple(depth for depth in self.depths if depth + max(prompts) + answer <= context)
        return replace(self, prompts=prompts, depths=depths)

    @property
    def requests(self) -> int:
        """How many requests are measured, without the warm-up batch of each point.

        With prefix caching, a separate request loads the context before the prompt.
        """
        total = 0
        for point in self.points:
            each = 2 if self.prefix_caching and point.depth > 0 else 1
            total += self.runs * each * point.concurrency
        return total


_ARTICLE = "kubis.ai, two Sparks, 2026-03-22"
_GUIDE = "GitHub repository rossingram/Spark-DGX-Benchmark, vLLM 25.09"

SUITES = (
    Suite("smoke", "A quick test: does the model answer, and about how fast", _ARTICLE, (512,), (32,), runs=2),
    Suite("sweep", "Comparison of topologies", _ARTICLE, (1024,), (128,), (1, 2, 4, 8, 16, 32, 64), runs=50),
    Suite(
        "arena",
        "The benchmark of the Spark Arena leaderboard, version 2",
        "spark-arena.com",
        (2048,),
        (128,),
        (1, 2, 5, 10),
        (0, 4096, 8192, 16384, 32768, 65535, 100000),
        prefix_caching=True,
    ),
    Suite(
        "concurrency",
        "Tokens/s of prefill and decode, with 1 to 256 requests at once",
        "dendro-logic, LLM Inference Recipes, gpt-oss-120b (concurrency-first), 2026-05-06",
        (2048,),
        (128,),
        (1, 2, 4, 5, 8, 10, 16, 32, 64, 128, 256),
    ),
    Suite(
        "stampede",
        "Total and decode tokens/s, TTFT, ITL and E2E, with 1 to 1024 requests at once",
        "kubis.ai, article 3 of 9 (Switching to vLLM)",
        (512,),
        (256,),
        (1, 4, 16, 64, 1024),
        runs=1,
    ),
    Suite("interactive", "One user: a short prompt and a long answer", _GUIDE, (105,), (256,)),
    Suite("batch-scaling", "1 to 16 users: short prompts and long answers", _GUIDE, (105,), (256,), (1, 2, 4, 8, 16)),
    Suite("long-context", "Prompts of 5,000, 20,000 and 40,000 tokens", _GUIDE, (5000, 20000, 40000), (256,)),
)
"""What a source lacks: `runs` are llama-benchy's default, answer lengths those of the guide's other tests."""


def suite(name: str) -> Suite | None:
    """The suite with this id; None if there is none."""
    return next((one for one in SUITES if one.id == name), None)
