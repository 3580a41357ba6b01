"""Runs llama-benchy where it is installed: here, or in a container on a node. Its API key is the first line of stdin.

stdout gets its progress events and at last its result as {"type": "result", "document": ...}, one JSON object a line;
what it prints for people goes to stderr. A text for its prompts may lie at $SPARKOPS_BOOK.
"""

import hashlib
import json
import os
import runpy
import sys
import tempfile


def place_book() -> list[str]:
    """llama-benchy reads the text of an address from its cache before it asks the network."""
    path = os.environ.get("SPARKOPS_BOOK")
    if not path:
        return []
    address = "file://" + os.path.abspath(path)
    cache = os.path.join(os.path.expanduser("~"), ".cache", "llama-benchy")
    os.makedirs(cache, exist_ok=True)
    name = hashlib.md5(address.encode(), usedforsecurity=False).hexdigest()
    with open(path, encoding="utf-8") as book, open(os.path.join(cache, name + ".txt"), "w", encoding="utf-8") as copy:
        copy.write(book.read())
    return ["--book-url", address]


def main() -> None:
    key = sys.stdin.readline().strip()
    out = sys.stdout
    with tempfile.TemporaryDirectory() as place:
        result = os.path.join(place, "result.json")
        sys.argv[1:] += ["--save-result", result, "--format", "json", "--emit-progress", "-", *place_book()]
        sys.argv += ["--api-key", key] if key else []
        try:
            runpy.run_module("llama_benchy", run_name="__main__")
        finally:
            if os.path.exists(result):
                with open(result, encoding="utf-8") as file:
                    out.write(json.dumps({"type": "result", "document": json.load(file)}) + "\n")
                out.flush()


main()
