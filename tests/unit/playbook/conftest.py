"""Playbooks from text as their reader sees them."""

import textwrap

import pytest

from sparkops.core.playbook import reading
from sparkops.files.yaml_positions import parse


@pytest.fixture
def read():
    """A playbook's text to its values; files beside it are `beside`."""

    def made(text, beside=None, extra=()):
        def file(name):
            try:
                return (beside or {})[name]
            except KeyError:
                raise FileNotFoundError(2, "No such file or directory") from None

        return reading.read(parse(textwrap.dedent(text).encode(), "play.yml"), file, extra)

    return made
