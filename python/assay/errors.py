"""What can go wrong, with what to do about it. Each error is also the Python exception that means the same."""
from __future__ import annotations

import errno
import re
from typing import Any, Dict, Tuple, Type

E_USAGE = -10001
E_NO_SOURCE = -10002
E_DATA = -10003
E_FORKED = -10004
E_STOPPED = -10005

# "--tag-cpu RATIO", "--metrics sm_active,power": the library speaks of the program's flags.
_FLAG = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]*[a-z0-9])(?:[ =]([A-Z][A-Z|]*\b|-?\d[\d.]*\b(?![,\w])|[\w.]+(?:,[\w.]+)+))?")


def _keyword(match: "re.Match[str]") -> str:
    name = match[1].replace("-", "_")
    if match[2] is None:
        return name
    return f"{name}={match[2]!r}" if "," in match[2] else f"{name}={match[2]}"


def in_python(text: str) -> str:
    """The words of a message with keywords instead of flags."""
    return _FLAG.sub(_keyword, text)


class AssayError(Exception):
    """A failure: `code` (negative; an errno, or one of the E_ values), `message`, and `hint`, which may be empty.

    AssayError(code, …) is also a FileNotFoundError, PermissionError, FileExistsError, TimeoutError, ValueError or
    RuntimeError where the code means that."""

    code: int
    message: str
    hint: str

    def __new__(cls, code: int, message: str, hint: str = "") -> "AssayError":
        chosen = _CLASSES.get(code) if cls is AssayError else None
        if chosen is not None:
            return chosen.__new__(chosen, code, message, hint)
        return super().__new__(cls, code, message, hint)  # type: ignore[call-arg]

    def __init__(self, code: int, message: str, hint: str = "") -> None:
        super().__init__(code, message, hint)
        self.code = code
        self.message = message
        self.hint = hint
        self.args = (code, message, hint)

    def __reduce__(self) -> Tuple[Type["AssayError"], Tuple[Any, ...]]:
        return AssayError, self.args

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class _SystemError(AssayError, OSError):
    """With errno as Python has it."""

    def __init__(self, code: int, message: str, hint: str = "") -> None:
        super().__init__(code, message, hint)
        self.errno, self.strerror, self.filename = -code, self.message, None


class AssayFileNotFoundError(_SystemError, FileNotFoundError):
    """There is no such file."""


class AssayFileExistsError(_SystemError, FileExistsError):
    """There is one already, and nothing is written over."""


class AssayPermissionError(_SystemError, PermissionError):
    """This user may not."""


class AssayTimeoutError(_SystemError, TimeoutError):
    """Nobody answered in time."""


class AssayValueError(AssayError, ValueError):
    """Asked for something that does not exist, or a file that is not what it should be."""


class AssayDataError(AssayValueError):
    """A file or an answer that cannot be understood."""


class AssaySourceError(AssayError, ConnectionError):
    """No source can be used: no driver, no exporter that answers, no file that says anything of GPUs."""


class AssayStateError(AssayError, RuntimeError):
    """Not now: the monitor is not running, closed, or another process's."""


_CLASSES: Dict[int, Type[AssayError]] = {
    -errno.ENOENT: AssayFileNotFoundError, -errno.EEXIST: AssayFileExistsError, -errno.EACCES: AssayPermissionError,
    -errno.EPERM: AssayPermissionError, -errno.ETIMEDOUT: AssayTimeoutError, E_USAGE: AssayValueError, E_DATA: AssayDataError, E_NO_SOURCE: AssaySourceError,
    E_FORKED: AssayStateError, E_STOPPED: AssayStateError,
}
