"""Steps, phases and numbers of a program, marked at the cost of a function call.

They go to the recording of `assay run`, or of the monitor that runs in this process; without one they do nothing.
"""
from __future__ import annotations

import contextlib
import ctypes
import functools
import math
import os
import time
from typing import Any, Callable, Dict, Generic, Iterable, Iterator, Optional, TypeVar

from ._lib import call, encode, lib

T = TypeVar("T")

_now = time.monotonic


class _Calls:
    """The library's marks. They are so short that letting other threads run meanwhile would cost more than they do."""

    def __init__(self) -> None:
        library = ctypes.PyDLL(lib().name)
        self.step = self._declare(library.assay_step, ctypes.c_char_p, ctypes.c_double, ctypes.c_double)
        self.begin = self._declare(library.assay_mark_begin, ctypes.c_char_p)
        self.end = self._declare(library.assay_mark_end, ctypes.c_char_p)
        self.metric = self._declare(library.assay_mark_metric, ctypes.c_char_p, ctypes.c_double)

    @staticmethod
    def _declare(function: Any, *arguments: Any) -> Callable[..., int]:
        function.argtypes = arguments
        function.restype = ctypes.c_int
        found: Callable[..., int] = function
        return found


@functools.lru_cache(maxsize=None)
def _calls() -> _Calls:
    return _Calls()


@functools.lru_cache(maxsize=4096)
def _name(name: Optional[str]) -> Optional[bytes]:
    """Names are UTF-8, and cut where they are too long."""
    if name is None:
        return None
    text = str(name).replace("\0", "\ufffd").encode("utf-8", "replace")[:127].decode("utf-8", "ignore")
    return text.encode()


def mark_to(session: Any) -> None:
    """Where marks go from now on: a session, None for that of `assay run`, "" for nowhere."""
    call(lib().assay_mark_to, encode(session))


def recording() -> bool:
    """Whether somebody records what is marked."""
    return bool(lib().assay_mark_recording())


class step:
    """One step of the program: `with assay.step():`. One that ends with an exception is not marked."""

    __slots__ = ("_name", "_began")

    def __init__(self, name: Optional[str] = None) -> None:
        self._name = name

    def __enter__(self) -> "step":
        self._began = _now()
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            _calls().step(_name(self._name), _now() - self._began, -1.0)


def step_end(name: Optional[str] = None, seconds: Optional[float] = None, waited: Optional[float] = None) -> None:
    """A step ended now. seconds: how long it took, since the step before when not given; waited: how long of that
    the program waited for data."""
    _calls().step(_name(name), -1.0 if seconds is None else seconds, -1.0 if waited is None else waited)


class steps(Generic[T]):
    """`for batch in assay.steps(loader):` Each round of the loop is a step, and the time until the loader gave the
    batch is known as waiting for data. len() is the loader's."""

    def __init__(self, loader: Iterable[T], name: Optional[str] = None) -> None:
        self._loader = loader
        self._name = name

    def __len__(self) -> int:
        return len(self._loader)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[T]:
        mark, name = _calls().step, _name(self._name)
        began = _now()
        for batch in self._loader:
            given = _now()
            yield batch
            ended = _now()
            mark(name, ended - began, given - began)
            began = ended


def phase_begin(name: str) -> None:
    _calls().begin(_name(name))


def phase_over(name: str) -> None:
    _calls().end(_name(name))


@contextlib.contextmanager
def phase(name: str, **extra: Any) -> Iterator[None]:
    """A phase as long as the block; what else is given is kept with it."""
    calls, raw = _calls(), _name(name)
    if extra:
        _told(name, extra)
    else:
        calls.begin(raw)
    try:
        yield
    finally:
        calls.end(raw)


def phase_end(name: str, seconds: float) -> None:
    """A phase that ended now and took so long."""
    from .runlog import _session_log
    with _session_log() as log:
        if log is not None:
            log.log_phase(name, max(0.0, seconds))


def _told(name: str, extra: Dict[str, Any]) -> None:
    from .runlog import _session_log
    with _session_log() as log:
        if log is not None:
            log.begin(name, **extra)


def metric(name: str, value: Any) -> None:
    """A number of the program: a loss, a rate. One that is not finite is left out."""
    number = float(value)
    if math.isfinite(number):
        _calls().metric(_name(name), number)


def follow(session: Optional[str]) -> None:
    """What is marked goes to a monitor that started or ended in this process; that of `assay run` comes first."""
    if not os.environ.get("ASSAY_SESSION"):
        mark_to(session)
