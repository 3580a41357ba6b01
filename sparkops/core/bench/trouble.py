"""Hints for a failed benchmark, by llama-benchy's messages."""

import re

KNOWN = (
    (r"HTTP 40[13]\b", "set $SPARKOPS_API_KEY to the server's API key (`sparkops key` prints a deployment's key)"),
    (r"HTTP 404\b.*model", "give `--model` a name that `curl URL/v1/models` lists"),
    (r"HTTP 404\b", "give `--url` without /v1, such as http://10.0.0.11:8000"),
    (r"WRONG_VERSION_NUMBER", "the server uses plain HTTP: `--url http://...`"),
    (r"CERTIFICATE_VERIFY_FAILED", "if your own CA signed the certificate, set $SSL_CERT_FILE to the file of that CA"),
    (r"unexpected mimetype", "the server at this address has no OpenAI API: check the port"),
    (
        r"an answer ended after",
        "the engine died during the answer, or prompt and answer are longer than the context: see `sparkops logs`",
    ),
    (r"Cannot connect to host", "check that a model serves at this address: `curl URL/v1/models`"),
    (r"throughput is null", "measure longer prompts: `--set pp=2048`; if requests failed, `sparkops logs` shows why"),
    (r"--book:", "name a long text file in UTF-8, or use the text of sparkops: without `--book` and $SPARKOPS_BOOK"),
    (r"oherence", "the model answered the test question wrongly (broken kernels?); `--skip-coherence` skips it"),
)
"""(pattern in the reason, hint); the first match counts."""


def cure(reason: str) -> str | None:
    """The hint for a reason; None if it is unknown."""
    return next((hint for pattern, hint in KNOWN if re.search(pattern, reason, re.IGNORECASE)), None)
