"""Write sparkops/data/schemas/*.json from the types that read our files: `python scripts/schemas.py`.

A test holds that they are what this writes, so that an editor never knows less than the reader.
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from sparkops.core.file_schemas import schemas  # noqa: E402
from sparkops.files import recipes  # noqa: E402


def written() -> dict[str, str]:
    """By kind."""
    return {kind: json.dumps(one, indent=2) + "\n" for kind, one in schemas(recipes.flag_table().flags).items()}


if __name__ == "__main__":
    for kind, text in written().items():
        (ROOT / "sparkops" / "data" / "schemas" / f"{kind}.json").write_text(text, encoding="utf-8")
