"""The image of the proxy: which one by default, how nodes call it, and which versions of LiteLLM must never run."""

import re
from collections.abc import Mapping

DEFAULT = "ghcr.io/berriai/litellm:v1.100.0@sha256:c8756e7b9a61fe45df2ccb5b781d388c3b2f3a21ef9e4956630caef20f9f03aa"
"""The digest is that of the index for all platforms. To move it, see "The proxy's image" in docs/how-to/images.md."""

EARLIER = ("ghcr.io/berriai/litellm:main-stable",)
"""The defaults of earlier releases. A proxy of one of them runs on until something else of its deployment changes."""

STEALS = re.compile(r"(?:^|[^0-9.])(1\.82\.[78])(?![0-9]|\.[0-9])")
"""Versions that stole credentials: BerriAI/litellm #24512, #24518."""

VERSION_LABEL = "org.opencontainers.image.version"
FORM = re.compile(r"[a-z0-9][a-zA-Z0-9._:/-]*:[A-Za-z0-9_][A-Za-z0-9_.-]*(?:@sha256:[0-9a-f]{64})?")
"""NAME:TAG or NAME:TAG@sha256:DIGEST: copies on other nodes have the tag only, so the tag is required."""


def called(image: str) -> str:
    """The image's name on the nodes: a copied image has no digest."""
    return image.partition("@")[0]


def problem(image: str, labels: Mapping[str, str] | None = None) -> str:
    """Why this image must not run, by its tag and its label; empty if it may."""
    tag = called(image).rpartition(":")[2]
    bad = STEALS.search(tag) or STEALS.search((labels or {}).get(VERSION_LABEL, ""))
    return f"LiteLLM {bad[1]} steals credentials" if bad else ""
