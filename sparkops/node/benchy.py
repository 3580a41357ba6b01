"""Runs llama-benchy where it is installed: here, or in a container on a node. Its API key is the first line of stdin.

stdout gets the name of the text for the prompts as {"type": "text", "text": ...}, then its progress events, and at last
its result as {"type": "result", "document": ...}, one JSON object a line; what it prints for people goes to stderr.
The text is the file at $SPARKOPS_BOOK, or one that is made here, so nothing is downloaded.
"""

import hashlib
import json
import os
import re
import runpy
import sys
import tempfile

OWN = "sparkops-1"
"""The name of the text below. Another text needs another name, because runs with different texts are not compared."""

CHARACTERS = 600_000
"""As long as the book that llama-benchy downloads, and longer than the longest prompt of the suites."""

WORDS = {
    "WHO": """
        baker carpenter clerk doctor driver engineer farmer fisherman gardener gatekeeper guard guest innkeeper
        journalist judge librarian mason mechanic merchant messenger miller musician nurse painter pilot porter
        potter printer sailor sculptor secretary shepherd singer soldier stranger student surveyor tailor
        teacher traveller typist waiter watchmaker weaver welder widow winemaker writer
    """,
    "DID": """
        admired borrowed bought broke brought built buried carried changed cleaned copied counted covered
        described divided drew dropped emptied examined filled followed forgot found hid ignored inspected
        invented kept lifted locked lost measured mended moved noticed opened ordered packed painted
        photographed polished promised pushed recognised refused remembered removed repaired replaced returned
        sold stored studied tested turned weighed
    """,
    "WHAT": """
        accordion anchor barometer basket bell bicycle blanket boiler bottle box bridge bucket camera candle
        cart catalogue chain chair clock coat compass cupboard curtain desk diary door drum engine envelope
        fence flag flute furnace garden gate globe hammer harvest kettle key kite ladder lamp lantern letter
        lock loom machine manuscript map mirror motor notebook oven parcel piano picture plough pump radio raft
        rope saddle sail scale shelf sign statue stove suitcase sundial table telegram telescope tent ticket
        tower trumpet umbrella wagon wheel window
    """,
    "HOW": """
        ancient blue brass broken brown careful cheap clean cold copper crooked damp dark dusty empty enormous
        expensive faded familiar famous fragile green grey heavy hidden hollow iron light long missing modern
        narrow new nameless old orange painted pale patient plain polished quiet red rough round rusty secret
        sharp silent silver slow small smooth soft square stolen strange striped tall thin torn transparent
        unfinished sturdy violet warm white wide wooden yellow
    """,
    "WHERE": """
        attic bakery bank barn beach cellar chapel church corridor courtyard district factory farm ferry field
        forest fountain gallery hall harbour hill hospital hotel inn island kitchen laboratory lake library
        lighthouse market meadow mill mine monastery mountain museum office orchard palace park post-office
        quarry quay railway restaurant river road school shipyard shop square stable station street studio
        theatre tunnel valley village vineyard warehouse waterfall wharf workshop
    """,
    "WHEN": """
        afterwards again already annually at-dawn at-dusk at-first at-midnight at-noon before-breakfast before-
        lunch during-the-night early finally for-a-month for-a-week for-an-hour in-April in-August in-December
        in-February in-January in-July in-June in-March in-May in-November in-October in-September in-autumn in-
        spring in-summer in-winter last-year late later next-morning often on-Friday on-Monday on-Saturday on-
        Sunday on-Thursday on-Tuesday on-Wednesday once rarely seldom sometimes soon suddenly that-afternoon
        that-evening that-morning the-next-day twice yesterday
    """,
}
SENTENCES = (
    "The HOW WHO DID the WHAT near the WHERE WHEN .",
    "WHEN , a WHO DID every HOW WHAT of the WHERE .",
    "When the WHO DID the HOW WHAT , another WHO DID the WHAT of the WHERE .",
    "Between the WHERE and the WHERE stood a HOW WHAT , and WHEN the WHO DID it .",
    "Nobody in the WHERE knew why the HOW WHO DID a WHAT WHEN .",
    "“Who DID the HOW WHAT ?” asked the WHO of the WHERE WHEN .",
    "The WHAT was HOW , the WHAT was HOW , and the WHO DID both WHEN .",
    "In the HOW WHERE , the WHO DID a WHAT for the WHO , who DID it WHEN .",
    "It was the WHO , not the WHO , who WHEN DID the HOW WHAT behind the WHERE .",
    "A WHAT and a HOW WHAT lay in the WHERE until the WHO DID them WHEN .",
    "If the WHERE had a HOW WHAT , wrote the WHO WHEN , the WHO DID it .",
)


def own_text() -> str:
    """Sentences whose words a fixed sequence of numbers chooses, so that the text is equal everywhere.

    No twelve words occur twice. So prompts from two places of the text have no prefix in common that an engine with
    prefix caching could reuse.
    """
    words = {kind: [word.replace("-", " ") for word in given.split()] for kind, given in WORDS.items()}
    state, parts, length = 20251, [], 0
    while length < CHARACTERS:
        made = []
        state = step(state)
        for word in SENTENCES[state % len(SENTENCES)].split():
            state = step(state)
            made.append(words[word][state % len(words[word])] if word in words else word)
        sentence = re.sub(r" (?=[,.?])", "", " ".join(made))
        sentence = re.sub(r"\b([Aa]) (?=[aeiou])", r"\1n ", sentence)
        state = step(state)
        parts.append(sentence[0].upper() + sentence[1:] + ("\n\n" if state % 6 == 0 else " "))
        length += len(parts[-1])
    return "".join(parts)


def step(state: int) -> int:
    """The next number of Lehmer's sequence with the constants of Park and Miller."""
    return state * 48271 % 2147483647


def text() -> tuple[str, str]:
    """The name of the text for the prompts, and the text; a file is named by its content."""
    path = os.environ.get("SPARKOPS_BOOK")
    if not path:
        return OWN, own_text()
    try:
        with open(path, encoding="utf-8") as file:
            found = file.read()
    except (OSError, UnicodeError) as error:
        sys.exit(f"--book: the file for the prompts cannot be read: {error}")
    if not found.strip():
        sys.exit("--book: the file for the prompts is empty")
    return f"file {hashlib.sha256(found.encode()).hexdigest()[:12]}", found


def place_text(home: str, found: str) -> list[str]:
    """llama-benchy reads the text of an address from its cache below the home before it asks the network."""
    address = "sparkops:text"
    cache = os.path.join(home, ".cache", "llama-benchy")
    os.makedirs(cache)
    name = hashlib.md5(address.encode(), usedforsecurity=False).hexdigest()
    with open(os.path.join(cache, name + ".txt"), "w", encoding="utf-8") as file:
        file.write(found)
    os.environ["HOME"] = os.environ["USERPROFILE"] = home
    return ["--book-url", address]


def main() -> None:
    key = sys.stdin.readline().strip()
    out = sys.stdout
    name, found = text()
    out.write(json.dumps({"type": "text", "text": name}) + "\n")
    out.flush()
    with tempfile.TemporaryDirectory() as place:
        result = os.path.join(place, "result.json")
        sys.argv[1:] += ["--save-result", result, "--format", "json", "--emit-progress", "-", *place_text(place, found)]
        sys.argv += ["--api-key", key] if key else []
        try:
            runpy.run_module("llama_benchy", run_name="__main__")
        finally:
            if os.path.exists(result):
                with open(result, encoding="utf-8") as file:
                    out.write(json.dumps({"type": "result", "document": json.load(file)}) + "\n")
                out.flush()


if __name__ == "__main__":
    main()
