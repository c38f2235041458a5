"""What can go wrong, with what to do about it."""
from __future__ import annotations

E_USAGE = -10001
E_NO_SOURCE = -10002
E_DATA = -10003
E_FORKED = -10004
E_STOPPED = -10005


class AssayError(Exception):
    """A failure: `code` (negative; an errno, or one of the E_ values), `message`, and `hint`, which may be empty."""

    def __init__(self, code: int, message: str, hint: str = "") -> None:
        super().__init__(code, message, hint)
        self.code = code
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message
