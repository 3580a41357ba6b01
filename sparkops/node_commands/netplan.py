"""Commands for our netplan file of a node (`node/netplan.sh`)."""

from sparkops.core.fabric.netplan import PATH
from sparkops.core.plan import Command, Script

TRY_SECONDS = 60
"""How long a try lasts that nobody confirms."""

APPLY_SECONDS = 45.0
"""The longest that netplan may take, so that a part of the minute is left to confirm."""


def there() -> Command:
    """Prints `file` and `try`, each if it is there."""
    return Command((Script("netplan"), "there", PATH), reads=True)


def show() -> Command:
    return Command((Script("netplan"), "show", PATH), reads=True, become=True)


def attempt(text: str) -> Command:
    """Apply a text, an empty one to be without the file. What was before is in force again after a minute, unless it is
    confirmed with `keep` or `drop`."""
    words = (Script("netplan"), "try", PATH, str(TRY_SECONDS))
    return Command(words, stdin=text, become=True, timeout=APPLY_SECONDS)


def keep() -> Command:
    return Command((Script("netplan"), "keep", PATH), become=True)


def drop() -> Command:
    return Command((Script("netplan"), "drop", PATH), become=True)
