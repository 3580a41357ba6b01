"""Options that several verbs share."""

import click

from sparkops.cli.shape import duration
from sparkops.core import copying

STALL = click.option(
    "--stall",
    callback=duration,
    metavar="TIME",
    default="10m",
    show_default=True,
    help="Give up if the engine's log has no new line for this long.",
)
DEADLINE = click.option(
    "--deadline",
    callback=duration,
    metavar="TIME",
    default="45m",
    show_default=True,
    help="Give up if the model does not serve after this long.",
)
COPY_STALL = click.option(
    "--stall", callback=duration, metavar="TIME", default=f"{copying.COPY_STALL:.0f}s", show_default=True,
    help="End a copy that makes no progress for this long.",
)  # fmt: skip
