"""Measuring in the background: threads of libassay, which never hold the interpreter's lock."""
from __future__ import annotations

import ctypes
import fcntl
import functools
import os
import shutil
import tempfile
import threading
import time
import weakref
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, Optional, Union

from . import _lib, marking
from ._lib import Handle, Options, call, lib, object_of
from .errors import E_STOPPED, AssayError
from .session import Counts, PathLike, Recording, Texts

PREFIX = "assay-monitor-"
FIRST_MOMENT_WAIT = 5.0  # seconds at most; a driver may take long to start


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
    try:
        entries = list(os.scandir(root))
    except OSError:  # One may write where one may not look.
        return
    for entry in entries:
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


def _free(pointer: int, folder: Optional[_Folder]) -> None:
    lib().assay_monitor_free(pointer)
    if folder:
        folder.remove()


# The monitors that run, the newest last. One that nobody holds on to ends.
_running: "List[weakref.ref[Monitor]]" = []


class Monitor(Recording):
    """Samples GPUs and the job around them every `interval` seconds while it runs.

    levels: which of process, user, slurm, cgroup, system (all when not given). session: the file to record to; a
    temporary one, removed with the monitor, when not given. gpus: which GPUs ("0,2", [0, 2], UUIDs). backend: auto, nvml,
    dcgm, drm, prometheus or replay. source: a capture, or an exporter's address. pid: the process to watch (this one).
    history: moments kept in memory for frames(). show_all: also GPUs that CUDA_VISIBLE_DEVICES hides. pss: also measure PSS
    and USS. Further options are those of the program's flags.

    Hold on to it: one that is dropped ends, and its temporary session with it. `interval` is the one that is kept:
    where a source or the kernel cannot be read that often it is longer than asked for, and `describe()["notice"]` says so.
    """

    def __init__(self, interval: float = 1.0, levels: Union[None, str, Iterable[str]] = None,
                 session: Optional[PathLike] = None, *, gpus: Texts = None, backend: Optional[str] = None,
                 source: Optional[PathLike] = None, pid: Optional[int] = None, history: Optional[int] = None,
                 show_all: Optional[bool] = None, pss: Optional[bool] = None, **options: Any) -> None:
        self.interval = interval
        self._options: Dict[str, Any] = {
            "interval": interval, "levels": levels if levels is None or isinstance(levels, str) else list(levels),
            "gpus": gpus, "backend": backend, "source": source, "pid": pid, "history": history, "show_all": show_all,
            "pss": pss, **options}
        # From the root, as a program may change its folder.
        self._session = Path(os.path.abspath(session)) if session is not None else None
        self._path = self._session
        self._handle: Optional[Handle] = None
        self._asked = interval
        self._changing, self._changer = threading.RLock(), os.getpid()
        self._failure = AssayError(E_STOPPED, "the monitor has not been started", "call start() first")
        with Options(self._options):
            pass  # A name that is no option is told here, not when it starts.

    def start(self) -> "Monitor":
        """Starts sampling; does nothing when it runs. Data of an earlier start that was not saved is gone."""
        with self._change():
            return self if self.running else self._start()

    def _change(self) -> "threading.RLock":
        """Held while it is started, stopped or closed. A child of fork() may not wait for a thread of its parent."""
        if self._changer != os.getpid():
            self._changing, self._changer = threading.RLock(), os.getpid()
        return self._changing

    def _start(self) -> "Monitor":
        self.close()
        folder = _Folder() if self._session is None else None
        self._path = Path(folder.path) / "session.assay" if folder else self._session
        extra: Dict[str, Any] = {"output": self._path, **({"durable": False} if folder else {})}
        with Options({**self._options, **extra}) as options:
            pointer = lib().assay_monitor_new(options)
        self._handle = Handle("monitor", pointer, functools.partial(_free, pointer, folder))
        self._end = weakref.finalize(self, self._handle.release)
        try:
            with self._use() as pointer:
                call(lib().assay_monitor_start, pointer)
        except BaseException as error:
            self.close()
            if isinstance(error, AssayError):
                self._failure = error
            raise
        self.interval = self.describe().get("interval") or self._asked
        _running.append(weakref.ref(self))
        marking.follow(str(self.path))
        return self

    def stop(self) -> None:
        """Ends sampling and completes the session. What was measured stays readable."""
        with self._change():
            if self._handle is None:
                return
            self._forget()
            with self._use() as pointer:
                call(lib().assay_monitor_stop, pointer)

    @property
    def path(self) -> Path:
        """The session that is recorded to."""
        if self._path is None:
            raise AssayError(E_STOPPED, "the monitor has not been started", "call start() first")
        return self._path

    def close(self) -> None:
        """Stops, and gives up what was not saved."""
        with self._change():
            self._forget()
            if self._handle:
                self._end()
            self._handle = None

    def _forget(self) -> None:
        known = [m() for m in _running]
        _running[:] = [m for m in _running if m() not in (None, self)]
        if self in known:
            marking.follow(running_session())

    @property
    def running(self) -> bool:
        try:
            with self._use() as pointer:
                return bool(lib().assay_monitor_running(pointer) == 1)
        except AssayError:
            return False

    def __enter__(self) -> "Monitor":
        return self.start()

    def __exit__(self, *_: Any) -> None:
        self.stop()

    def _use(self) -> Handle:
        handle = self._handle
        if handle is None:  # One that could not start tells why, whatever it is asked.
            raise AssayError(*self._failure.args)
        return handle

    def _file(self) -> bytes:
        with self._use() as pointer:
            if lib().assay_monitor_running(pointer) == 1:
                call(lib().assay_monitor_flush, pointer)
        return os.fsencode(self.path)

    def describe(self) -> Dict[str, Any]:
        """All that is known of what is watched, SI units."""
        with self._use() as pointer:
            return object_of(lib().assay_monitor_describe, pointer)

    @property
    def counts(self) -> Counts:
        """Ticks asked for, taken, late and missed."""
        counts = _lib.Counts()
        with self._use() as pointer:
            call(lib().assay_monitor_counts, pointer, ctypes.byref(counts))
        return Counts(counts.asked, counts.taken, counts.late, counts.missed)

    def latest(self) -> Optional[Dict[str, Any]]:
        """The newest moment: time, gpus with their verdicts, host. None while there is none."""
        frame = ctypes.c_void_p()
        with self._use() as pointer:
            found = call(lib().assay_monitor_latest, pointer, ctypes.byref(frame))
        return _take(frame) if found else None

    def fields(self) -> List[str]:
        self.wait(FIRST_MOMENT_WAIT)
        return super().fields()

    def frames(self, timeout: Optional[float] = None) -> Iterator[Dict[str, Any]]:
        """Every moment kept in memory, then each new one as it comes, until the monitor stops or
        `timeout` seconds brought nothing."""
        cursor = ctypes.c_uint64(0)
        frame = ctypes.c_void_p()
        while True:
            with self._use() as pointer:
                found = call(lib().assay_monitor_next, pointer, ctypes.byref(cursor), ctypes.byref(frame))
            if found:
                yield _take(frame)
            elif not self._wait(cursor.value, timeout):
                return

    def wait(self, timeout: Optional[float] = None) -> bool:
        """Waits for the first moment; False when there is none after `timeout` seconds."""
        return self._wait(0, timeout)

    def _wait(self, cursor: int, timeout: Optional[float]) -> bool:
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            # In short steps, so that Ctrl-C is answered.
            step = 0.2 if end is None else min(0.2, max(0.0, end - time.monotonic()))
            with self._use() as pointer:
                if call(lib().assay_monitor_wait, pointer, cursor, step) == 1:
                    return True
            if not self.running or (end is not None and time.monotonic() >= end):
                return False

    def __repr__(self) -> str:
        return f"<assay.Monitor every {self.interval} s, {'running' if self.running else 'not running'}>"


def _take(frame: ctypes.c_void_p) -> Dict[str, Any]:
    try:
        return object_of(lib().assay_frame_json, frame)
    finally:
        lib().assay_frame_unref(frame)


def running_monitor() -> Optional[Monitor]:
    """The monitor that was started last and runs in this process."""
    running = [m for m in (one() for one in list(_running)) if m is not None and m.running]
    return running[-1] if running else None


def running_session() -> Optional[str]:
    """Its session."""
    monitor = running_monitor()
    return str(monitor.path) if monitor else None
