"""Measuring in the background: threads of libassay, which never hold the interpreter's lock."""
from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import tempfile
import time
import weakref
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Optional, Union

from . import _lib
from ._lib import Options, call, json_of, lib
from .errors import E_FORKED, E_STOPPED, AssayError
from .session import Counts, PathLike, Recording

PREFIX = "assay-monitor-"


class _Folder:
    """A temporary folder for a session. Locked while its process lives, so that others' remains can be swept."""

    def __init__(self) -> None:
        _sweep(tempfile.gettempdir())
        self.path = tempfile.mkdtemp(prefix=PREFIX)
        self._lock = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def _sweep(root: str) -> None:
    """Removes folders whose process was killed or became another program."""
    for entry in os.scandir(root):
        try:
            if entry.name.startswith(PREFIX) and entry.stat(follow_symlinks=False).st_uid == os.getuid():
                _remove_unlocked(entry.path)
        except OSError:
            continue


def _remove_unlocked(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        # A folder that was just made is not locked yet.
        if time.time() - os.fstat(fd).st_mtime < 60:
            return
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(fd)


def _release(handle: int, folder: Optional[_Folder], owner: int) -> None:
    """Ends a monitor. After a fork it is the parent's, and so is the folder."""
    if os.getpid() != owner:
        return
    lib().assay_monitor_free(handle)
    if folder:
        folder.remove()


# The monitors that run, the newest last. As with threads, nobody needs to hold on to one that runs.
_running: "List[Monitor]" = []


class Monitor(Recording):
    """Samples GPUs and the job around them every `interval` seconds while it runs.

    levels: which of process, user, slurm, cgroup, system (all when not given). session: the file to record to; a
    temporary one, removed with the monitor, when not given. Further options are those of the program's
    flags (gpus, backend, source, pid, …).
    """

    def __init__(self, interval: float = 1.0, levels: Union[None, str, Iterable[str]] = None,
                 session: Optional[PathLike] = None, **options: Any) -> None:
        self.interval = interval
        self._options = {"interval": interval, "levels": levels if levels is None or isinstance(levels, str)
                         else list(levels), **options}
        self._session = Path(session) if session is not None else None
        self._handle: Optional[int] = None
        self._release: Optional[weakref.finalize] = None
        self._owner = os.getpid()
        with Options(self._options):
            pass  # What is wrong is told here, not when it starts.

    def start(self) -> "Monitor":
        """Starts sampling; does nothing when it runs. Data of an earlier start that was not saved is gone."""
        if self.running:
            return self
        self.close()
        folder = _Folder() if self._session is None else None
        self.path = Path(folder.path) / "session.assay" if folder else self._session
        extra = {"output": self.path, **({"durable": False} if folder else {})}
        with Options({**self._options, **extra}) as options:
            self._handle = lib().assay_monitor_new(options)
        self._owner = os.getpid()
        self._release = weakref.finalize(self, _release, self._handle, folder, self._owner)
        try:
            call(lib().assay_monitor_start, self._handle)
        except BaseException:
            self.close()
            raise
        _running.append(self)
        return self

    def stop(self) -> None:
        """Ends sampling and completes the session. What was measured stays readable."""
        if self._handle is None:
            return
        self._forget()
        call(lib().assay_monitor_stop, self._check())

    def close(self) -> None:
        """Stops, and gives up what was not saved."""
        self._forget()
        if self._release:
            self._release()
        self._release = self._handle = None

    def _forget(self) -> None:
        if self in _running:
            _running.remove(self)

    @property
    def running(self) -> bool:
        return (self._handle is not None and os.getpid() == self._owner
                and lib().assay_monitor_running(self._handle) == 1)

    def __enter__(self) -> "Monitor":
        return self.start()

    def __exit__(self, *_: Any) -> None:
        self.stop()

    def _check(self) -> int:
        if self._handle is None:
            raise AssayError(E_STOPPED, "the monitor has not been started", "call start() first")
        if os.getpid() != self._owner:
            raise AssayError(E_FORKED, "the monitor belongs to the process before fork()",
                             "make a new Monitor in this process")
        return self._handle

    def _file(self) -> bytes:
        handle = self._check()
        if self.running:
            call(lib().assay_monitor_flush, handle)
        return os.fsencode(self.path)

    def describe(self) -> Dict[str, Any]:
        """All that is known of what is watched, SI units."""
        return json_of(lib().assay_monitor_describe, self._check())

    @property
    def counts(self) -> Counts:
        """Ticks asked for, taken, late and missed."""
        counts = _lib.Counts()
        call(lib().assay_monitor_counts, self._check(), ctypes.byref(counts))
        return Counts(counts.asked, counts.taken, counts.late, counts.missed)

    def latest(self) -> Optional[Dict[str, Any]]:
        """The newest moment: time, gpus with their verdicts, host. None while there is none."""
        frame = ctypes.c_void_p()
        if call(lib().assay_monitor_latest, self._check(), ctypes.byref(frame)) == 0:
            return None
        return _take(frame)

    def frames(self, timeout: Optional[float] = None) -> Iterator[Dict[str, Any]]:
        """Every moment kept in memory, then each new one as it comes, until the monitor stops or
        `timeout` seconds brought nothing."""
        cursor = ctypes.c_uint64(0)
        frame = ctypes.c_void_p()
        while True:
            while call(lib().assay_monitor_next, self._check(), ctypes.byref(cursor), ctypes.byref(frame)) == 1:
                yield _take(frame)
            if not self._wait(cursor.value, timeout):
                return

    def wait(self, timeout: Optional[float] = None) -> bool:
        """Waits for the first moment; False when there is none after `timeout` seconds."""
        return self._wait(0, timeout)

    def _wait(self, cursor: int, timeout: Optional[float]) -> bool:
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            # In short steps, so that Ctrl-C is answered.
            step = 0.2 if end is None else min(0.2, max(0.0, end - time.monotonic()))
            if call(lib().assay_monitor_wait, self._check(), cursor, step) == 1:
                return True
            if not self.running or (end is not None and time.monotonic() >= end):
                return False

    def __repr__(self) -> str:
        return f"<assay.Monitor every {self.interval} s, {'running' if self.running else 'not running'}>"


def _take(frame: ctypes.c_void_p) -> Dict[str, Any]:
    try:
        return json_of(lib().assay_frame_json, frame)
    finally:
        lib().assay_frame_unref(frame)


def running_session() -> Optional[str]:
    """The session of the monitor that was started last and runs in this process."""
    running = [m for m in _running if m.running]
    return str(running[-1].path) if running else None
