"""What measures, as a type that others can have too, and one that stands where nothing can be measured."""
from __future__ import annotations

from typing import Any, Optional, Protocol, runtime_checkable

from .errors import E_NO_SOURCE, AssayError


@runtime_checkable
class MonitorProtocol(Protocol):
    """What a Monitor, a Session and an UnavailableMonitor have; isinstance asks for the names."""

    interval: float

    @property
    def running(self) -> bool: ...

    @property
    def is_imported(self) -> bool: ...

    @property
    def session_source(self) -> Optional[str]: ...

    def start(self) -> Any: ...

    def stop(self) -> Any: ...


class UnavailableMonitor:
    """Stands for a monitor where there is none: it does not run, and all else says why."""

    interval = 0.0
    running = False
    is_imported = False
    session_source: Optional[str] = None

    def __init__(self, reason: str = "nothing can be measured here") -> None:
        self.reason = reason

    def _refuse(self) -> AssayError:
        return AssayError(E_NO_SOURCE, self.reason, "'assay doctor' tells what is missing")

    def start(self) -> "UnavailableMonitor":
        raise self._refuse()

    def stop(self) -> None:
        """Does nothing: it does not run."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self._refuse()

    def __repr__(self) -> str:
        return f"<assay.UnavailableMonitor: {self.reason}>"
