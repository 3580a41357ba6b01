"""Names a recipe with more context for a deploy that has little."""

from typing import Any

from sparkops.core import shapes
from sparkops.core.effective import Effective, Overrides, effective
from sparkops.core.recipe import Recipe
from sparkops.core.topology import Kind
from sparkops.files import recipes

LITTLE = 8192
"""Tokens of context below which a recipe with more is named: agents and documents need more."""


def longer_context(settings: Effective, kind: Kind) -> dict[str, Any] | None:
    """The recipe of this model with the most context in this topology; None if the deploy has enough or the most."""
    context = _context(settings)
    return with_more(settings.model, kind, context) if 0 < context < LITTLE else None


def with_more(model: str, kind: Kind, context: int) -> dict[str, Any] | None:
    """The recipe of this model with the most context in this topology; None if none has more than `context`."""
    others = {name: _context(effective(recipe, kind, Overrides())) for name, recipe in _same_model(model, kind)}
    best = max(others, key=lambda name: others[name], default="")
    return {"recipe": best, "context": others[best]} if best and others[best] > context else None


def _same_model(model: str, kind: Kind) -> list[tuple[str, Recipe]]:
    meant = "cluster" if kind == "cluster" else "solo"
    return [(name, one) for name, one in recipes.readable() if one.model == model and meant in shapes.kinds(one)]


def _context(settings: Effective) -> int:
    """Tokens; 0 if the recipe leaves it to the model."""
    return int(settings.number("max-model-len", 0))
