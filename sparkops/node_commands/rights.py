"""Settings of a node that only root may change."""

from sparkops.core.plan import Command


def let_linger(user: str) -> Command:
    """Background jobs then outlive the login."""
    return _root("loginctl", "enable-linger", user)


def unlinger(user: str) -> Command:
    return _root("loginctl", "disable-linger", user)


def start_service(name: str) -> Command:
    """Start it now and at each boot."""
    return _root("systemctl", "enable", "--now", name)


def stop_service(name: str) -> Command:
    return _root("systemctl", "disable", "--now", name)


def _root(*words: str) -> Command:
    return Command(words, become=True)
