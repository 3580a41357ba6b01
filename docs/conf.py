"""How Sphinx builds the site: `make docs`. Pages are Markdown (MyST)."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent

project = "sparkops"
author = "the sparkops authors"
copyright = "the sparkops authors, Apache-2.0"  # noqa: A001  the name that Sphinx reads
release = re.search(r'__version__ = "(.+?)"', (ROOT / "sparkops" / "__init__.py").read_text())[1]  # type: ignore[index]

extensions = ["myst_parser"]
myst_heading_anchors = 3
# Editors fetch the schemas from the site.
html_extra_path = ["../sparkops/data/schemas"]
html_theme = "furo"
html_title = f"sparkops {release}"
html_theme_options = {"source_repository": "", "navigation_with_keys": True}
# Furo's own styles and scripts only: the site also opens without a network.
html_copy_source = False
