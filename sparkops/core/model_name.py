"""Names of models as users write them: `org/name`, `org/name@revision`, or a directory of a node."""

import re
from dataclasses import dataclass

from sparkops.core.build import job_id
from sparkops.errors import UsageError

_PAGE = "https://huggingface.co/"
"""What the address of a model's page begins with."""
_HUB = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[\w.-]+)?")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_REVISION = re.compile(r"[\w.-]+(?:/[\w.-]+)*")


@dataclass(frozen=True)
class ModelName:
    """`revision` is a branch, a tag or a commit; empty means the default branch."""

    model: str
    revision: str = ""

    def __str__(self) -> str:
        return f"{self.model}@{self.revision}" if self.revision else self.model

    @property
    def local(self) -> bool:
        return self.model.startswith("/")

    def job(self, kind: str) -> str:
        """The id of a background job, equal for equal work, so that a second command finds the job."""
        return job_id(kind, self.title.strip("/").replace("/", "--"))

    @property
    def title(self) -> str:
        """The name with the first 12 digits of a commit."""
        known = _COMMIT.fullmatch(self.revision) is not None
        return f"{self.model}@{self.revision[:12]}" if known else str(self)


def model_name(text: str) -> ModelName:
    if text.startswith("/"):
        return ModelName(text.rstrip("/") or "/")
    model, at, revision = text.partition("@")
    if not _HUB.fullmatch(model) or (at and not _REVISION.fullmatch(revision)) or ".." in text:
        hint = "write for example openai/gpt-oss-120b, openai/gpt-oss-120b@main, or an absolute path on the nodes"
        if text.startswith(_PAGE):
            hint = f"write the name only: {'/'.join(text.removeprefix(_PAGE).split('/')[:2])}"
        raise UsageError(f"{text!r} is not a valid model name", hint=hint)
    return ModelName(model, revision)
