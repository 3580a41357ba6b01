"""A valid `tokenizer.json`: byte-level BPE without merges, a token a byte, so that clients can count without the hub."""

import json

from sparklab.layout import captured


def letters() -> list[str]:
    """GPT-2's printable letter for each byte, in the order of the bytes."""
    plain = {*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)}
    others = iter(range(256, 512))
    return [chr(byte if byte in plain else next(others)) for byte in range(256)]


def text() -> str:
    whole = json.loads(captured("tokenizer.json"))
    whole["model"]["vocab"] = {letter: number for number, letter in enumerate(letters())}
    return json.dumps(whole)
