"""llama-benchy in a container on a node: needs no tool here and measures only the network between nodes."""

from collections.abc import Sequence
from dataclasses import dataclass

from sparkops.core.facts.images import Image
from sparkops.core.plan import NodeLost, Secret
from sparkops.errors import Refused
from sparkops.files.package import node_script
from sparkops.node_commands import benchy
from sparkops.node_commands.benchy import Snapshot
from sparkops.session.away import unreachable
from sparkops.session.llama_benchy import SCRIPT, BenchyEnded, BenchyOutcome, Told, events
from sparkops.session.session import Session
from sparkops.verbs.bench.options import BenchOptions

KEY = Secret("bench key")


@dataclass(frozen=True)
class NodeTool:
    """`image` is the ID of llama-benchy's image; `tokenizer` is a path inside the container."""

    session: Session
    node: str
    image: str
    model: Snapshot
    book: str | None

    @property
    def tokenizer(self) -> str:
        return Snapshot(benchy.MODEL_INSIDE, self.model.revision).tokenizer

    def measure(self, words: Sequence[str], told: Told) -> BenchyEnded:
        """Run llama-benchy; it ends with its SSH channel, so also if we are interrupted or killed."""
        command = benchy.in_container(node_script(SCRIPT.name), words, self.model, self.book, KEY)
        outcome, rest = BenchyOutcome(told), b""

        def take(data: bytes) -> None:
            nonlocal rest
            *lines, rest = (rest + data).split(b"\n")
            for event in events(line.decode("utf-8", "replace") for line in lines):
                outcome.take(event)

        try:
            result = self.session.follow(self.node, command, take)
        except NodeLost as lost:
            raise unreachable(lost) from None
        return outcome.ended(result.code or 0 if result.ended == "exited" else 1, benchy.said(result.stderr))


def of(options: BenchOptions, session: Session, model: Snapshot, key: str) -> NodeTool:
    """Return the tool on that node; refuses if its image is missing, because nothing is downloaded unasked."""
    node = options.on or ""
    facts = session.facts(images=[benchy.IMAGE]).get(node)
    image = facts.image(benchy.IMAGE) if facts else None
    if not isinstance(image, Image):
        hint = f"build it there: `sparkops image build {benchy.IMAGE} --on {node}`"
        raise Refused(f"{node} has no image {benchy.IMAGE}", hint=hint)
    session.secrets[KEY.name] = f"{key}\n"
    return NodeTool(session, node, image.id, model, options.book)
