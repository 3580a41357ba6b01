"""What root alone may switch on a node, and back."""

from sparkops.core.plan import Command


def let_linger(user: str) -> Command:
    """What runs detached outlives the login."""
    return _root("loginctl", "enable-linger", user)


def unlinger(user: str) -> Command:
    return _root("loginctl", "disable-linger", user)


def start_service(name: str) -> Command:
    """Now, and at each boot."""
    return _root("systemctl", "enable", "--now", name)


def stop_service(name: str) -> Command:
    return _root("systemctl", "disable", "--now", name)


def _root(*words: str) -> Command:
    return Command(words, become=True)
