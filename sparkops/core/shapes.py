"""Placements of recipes without an inventory."""

import math

from sparkops.core import images, topology
from sparkops.core.recipe import Overrides, Recipe, effective
from sparkops.core.topology import Shape, Topology


def usual(*recipes: Recipe) -> str:
    """The topology that fits all of these recipes: solo if each runs on one node, else cluster."""
    alone = all("solo" in (recipe.only or ("solo",)) and recipe.nodes.min <= 1 for recipe in recipes)
    return "solo" if alone else "cluster"


def smallest(wanted: Topology, *recipes: Recipe) -> Shape:
    """The smallest placement of a topology that fills what these recipes ask for."""
    settings = [effective(recipe, wanted.kind, Overrides()) for recipe in recipes]
    asked = [math.prod(map(one.parallel, ("tensor", "pipeline", "data"))) for one in settings]
    least = max(topology.LEAST_CLUSTER, *(recipe.nodes.min for recipe in recipes), *asked)
    most = min(max(recipe.nodes.max or least, topology.LEAST_CLUSTER) for recipe in recipes)
    ray = all(images.known(one.image).ray is not False for one in settings)
    nodes = min(least, most) if wanted.kind == "cluster" else wanted.count or 1
    return Shape(wanted.kind, nodes, "ray" if ray else "mp", str(wanted))
