"""The only exception that this package raises to its callers on purpose."""


class LabError(Exception):
    """An error that the user can fix; `hint` says how."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
