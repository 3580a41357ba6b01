"""The result of a verb, for the report to show."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sparkops.errors import SparkopsError


@dataclass(frozen=True)
class Answer:
    """`document` is the verb's own keys of the JSON document.

    `error` says why it did not succeed and gives the exit code, unless `exit_code` says another.
    """

    document: Mapping[str, Any]
    exit_code: int = 0
    error: SparkopsError | None = None

    @property
    def code(self) -> int:
        return self.exit_code or (self.error.exit_code if self.error else 0)
