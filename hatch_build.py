"""Puts the commit into the wheel, for `sparkops --version`; nothing where there is no git checkout."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommitHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        asked = subprocess.run(["git", "rev-parse", "HEAD"], cwd=self.root, check=False, capture_output=True, text=True)
        if version == "editable" or asked.returncode != 0:
            return
        made = Path(self.directory) / "commit"
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_text(asked.stdout, encoding="utf-8")
        build_data["force_include"][str(made)] = "sparkops/data/commit"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        (Path(self.directory) / "commit").unlink(missing_ok=True)
