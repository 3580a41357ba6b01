"""How the energy of a token is said."""

LEFT_OUT = "power of the GPUs as their driver reads it, without CPU, memory, network, fans and power supply"
"""Said beside each number of joules: GB10 tells no other power."""


def energy_text(token: float, request: float | None) -> str:
    """As every screen and report says it."""
    return f"{_short(token)} J per generated token" + (f", {_short(request)} J per request" if request else "")


def _short(joules: float) -> str:
    """Two digits that matter: a batch of requests makes a token for some hundredths of a joule."""
    return f"{joules:,.0f}" if joules >= 100 else f"{joules:.2g}"  # noqa: PLR2004
