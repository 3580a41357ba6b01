"""Docker's words for durations and sizes."""

import time

MINUTE, HOUR, DAY = 60, 3600, 86400


def ago(moment: float) -> str:
    """Return how long ago a moment (epoch seconds) was: `About a minute`, `3 hours`."""
    passed = max(0, int(time.time() - moment))
    if passed < MINUTE:
        return "Less than a second" if passed < 1 else "1 second" if passed == 1 else f"{passed} seconds"
    if passed < HOUR:
        return "About a minute" if passed < 2 * MINUTE else f"{passed // MINUTE} minutes"
    if passed < 2 * DAY:
        return "About an hour" if passed < 2 * HOUR else f"{passed // HOUR} hours"
    for unit, name, limit in ((DAY, "days", 14), (7 * DAY, "weeks", 9), (30 * DAY, "months", 24)):
        if passed < unit * limit:
            return f"{passed // unit} {name}"
    return f"{passed // (365 * DAY)} years"


def size(count: int) -> str:
    """Return a size in decimal units with three digits: `24.6GB`."""
    value, unit = float(count), "B"
    for larger in ("kB", "MB", "GB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.3g}{unit}"
