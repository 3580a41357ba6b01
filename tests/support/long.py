"""Tests that load real models for minutes and whose kind another test shows: only where SPARKOPS_LAB_LONG is set."""

import os

import pytest

LONG = pytest.mark.skipif("SPARKOPS_LAB_LONG" not in os.environ, reason="long: SPARKOPS_LAB_LONG is not set")
