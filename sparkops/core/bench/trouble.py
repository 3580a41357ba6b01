"""Hints for a failed benchmark, by llama-benchy's messages."""

import re

KNOWN = (
    (r"HTTP 40[13]\b", "the key is $SPARKOPS_API_KEY; `sparkops key` prints that of a deployment"),
    (r"HTTP 404\b.*model", "`--model` is a name that the server's /v1/models lists"),
    (r"HTTP 404\b", "`--url` is what stands before /v1, such as http://10.0.0.11:8000"),
    (r"WRONG_VERSION_NUMBER", "that port speaks plain HTTP: `--url http://...`"),
    (r"CERTIFICATE_VERIFY_FAILED", "$SSL_CERT_FILE names the file of an authority of your own"),
    (r"unexpected mimetype", "what answers there is no API of OpenAI's kind: is it the right port?"),
    (
        r"an answer ended after",
        "a server died in the middle, or prompt and answer do not fit into its context: `sparkops logs` says which",
    ),
    (r"Cannot connect to host", "does it serve, and is that its address? `curl URL/v1/models` asks it"),
    (r"throughput is null", "longer prompts take long enough: `--set pp=2048`; `sparkops logs` says what failed"),
    (r"processing book", "`--book FILE` ($SPARKOPS_BOOK) is any long text instead of the book that is fetched"),
    (r"oherence", "kernels that answer nonsense are not worth measuring; `--skip-coherence` leaves the question out"),
)
"""(pattern in the reason, hint); the first match counts."""


def cure(reason: str) -> str | None:
    """The hint for a reason; None if it is unknown."""
    return next((hint for pattern, hint in KNOWN if re.search(pattern, reason, re.IGNORECASE)), None)
