"""The run log: phases, events and numbers of a program's own, written as they happen."""
from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import math
import os
import shutil
import tempfile
import time
import weakref
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple, Union

from ._lib import Handle, call, encode, lib
from .errors import AssayError
from .monitor import Monitor, running_session
from .session import PathLike


DEPTH_MAX = 64


def _text(value: Any) -> str:
    """A text that C and JSON can hold."""
    return str(value).replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def _key(key: Any) -> str:
    return json.dumps(key) if key is None or isinstance(key, (bool, int, float)) else _text(key)


def _item(value: Any) -> Any:
    """Numbers of other libraries as numbers, anything else as its text."""
    with contextlib.suppress(Exception):
        found = value.item()
        return found if isinstance(found, (bool, int, float)) else _text(found)
    return _text(value)


def _plain(value: Any, inside: Tuple[int, ...] = ()) -> Any:
    """What JSON can hold: no NaN, no infinity, nothing that has itself inside (what it is inside of: `inside`)."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, int) and not isinstance(value, bool):
        return value if -(2**63) <= value < 2**63 else str(value)
    if value is None or isinstance(value, bool):
        return value
    if not isinstance(value, (dict, list, tuple)):
        item = _item(value)
        return item if isinstance(item, str) else _plain(item)
    if id(value) in inside or len(inside) == DEPTH_MAX:
        return "…"
    inside += (id(value),)
    if isinstance(value, dict):
        return {_key(k): _plain(v, inside) for k, v in value.items()}
    return [_plain(v, inside) for v in value]


def _json(value: Any) -> bytes:
    """JSON of anything: a log must not end a training run."""
    return json.dumps(_plain(value), ensure_ascii=False).encode()


def _name(name: Any) -> bytes:
    """Names are UTF-8 whatever the locale."""
    return _text(name).encode()


def _session_of(session: Union[None, PathLike, Monitor]) -> Optional[str]:
    """The session to write to: what is given, that of `assay run`, that of the running monitor, none."""
    if isinstance(session, Monitor):
        return os.fspath(session.path)
    if session is not None:
        return os.fspath(session)
    return None if os.environ.get("ASSAY_SESSION") else running_session() or ""


@contextlib.contextmanager
def _session_log() -> "Iterator[Optional[RunLog]]":
    """A log without a file, for the session that marks go to; None when there is no recording."""
    session = _session_of(None)
    if session == "":
        yield None
        return
    try:
        log = RunLog.__new__(RunLog)
        log._open(None, session, None)
    except AssayError:
        yield None
        return
    try:
        yield log
    finally:
        log.close()


def _scratch() -> str:
    fd, path = tempfile.mkstemp(prefix="assay-log-", suffix=".jsonl")
    os.close(fd)
    return path


def _free(pointer: int, scratch: Optional[str]) -> None:
    lib().assay_log_close(pointer)
    if scratch:
        with contextlib.suppress(OSError):
            os.unlink(scratch)


PHASE_SECONDS_MAX = 1e9  # as the library has it


class RunLog:
    """A log of JSON lines; each entry is in the file, and in the session if there is one, at once. Children of fork()
    may go on with it.

    path: the file, appended to; a temporary one when not given (see write). session: a Monitor or a session
    file; when not given, the one of `assay run`, else of the monitor that runs in this process.
    """

    def __init__(self, path: Optional[PathLike] = None, session: Union[None, PathLike, Monitor] = None) -> None:
        scratch = _scratch() if path is None else None
        # From the root, as a program may change its folder.
        self.path = Path(scratch or os.path.abspath(path or ""))
        try:
            self._open(self.path, _session_of(session), scratch)
        except BaseException:
            if scratch:
                os.unlink(scratch)
            raise

    def _open(self, path: Optional[Path], session: Optional[str], scratch: Optional[str]) -> None:
        handle = ctypes.c_void_p()
        call(lib().assay_log_open, encode(path), encode(session), ctypes.byref(handle))
        self._handle = Handle("run log", handle.value, functools.partial(_free, handle.value, scratch),
                              inherited=True)
        self._end = weakref.finalize(self, self._handle.release)

    def _put(self, function: Callable[..., int], *args: Any) -> None:
        with self._handle as pointer:
            call(function, pointer, *args)

    def log_phase(self, name: str, seconds: float, **extra: Any) -> None:
        """A phase that is over and took so long. One that cannot have (NaN, below 0, above 1e9) is kept as an event with that number."""
        if not 0 <= float(seconds) <= PHASE_SECONDS_MAX:
            self.log_event(name, {"seconds": repr(float(seconds)), **extra})
            return
        self._put(lib().assay_log_phase, _name(name), float(seconds), _json(extra) if extra else None)

    def log_event(self, event_type: str, data: Any = None) -> None:
        """Something that happened."""
        self._put(lib().assay_log_event, _name(event_type), None if data is None else _json(data))

    def log_metric(self, name: str, value: float) -> None:
        """A number of the program's own: a loss, a rate. One that is not finite is left out."""
        number = float(value)
        if math.isfinite(number):
            self._put(lib().assay_log_metric, _name(name), number)

    def begin(self, name: str, **extra: Any) -> None:
        self._put(lib().assay_log_begin, _name(name), _json(extra) if extra else None)

    def end(self, name: str, **extra: Any) -> None:
        self._put(lib().assay_log_end, _name(name), _json(extra) if extra else None)

    @contextlib.contextmanager
    def phase(self, name: str, **extra: Any) -> Iterator[Dict[str, Any]]:
        """A phase as long as the block; what is put into the dict it gives is kept with the phase."""
        self.begin(name, **extra)
        more = dict(extra)
        try:
            yield more
        except BaseException as error:
            more.setdefault("error", type(error).__name__)
            raise
        finally:
            self.end(name, **more)

    def entries(self) -> List[Dict[str, Any]]:
        """The log as a list; a line that is not whole yet is left out."""
        with open(self.path, encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.endswith("\n")]

    def write(self, path: PathLike) -> Path:
        """Writes all entries so far to a file, which is replaced at once or not at all."""
        target = Path(path)
        if target.exists() and target.samefile(self.path):
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f".{target.name}.{os.getpid()}.{time.monotonic_ns()}")
        try:
            shutil.copyfile(self.path, part)
            os.replace(part, target)
        finally:
            with contextlib.suppress(OSError):
                os.unlink(part)
        return target

    def close(self) -> None:
        """Ends the log; a temporary file is gone."""
        self._end()

    def __enter__(self) -> "RunLog":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<assay.RunLog {str(self.path)!r}>"
