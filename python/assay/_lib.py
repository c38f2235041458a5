"""libassay, found and declared. ctypes lets other threads run during every call."""
from __future__ import annotations

import ctypes
import ctypes.util
import functools
import json
import os
import shutil
import sys
import sysconfig
import threading
from ctypes import POINTER, c_char_p, c_double, c_int, c_size_t, c_uint64, c_void_p
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, Mapping, Optional

from .errors import E_FORKED, E_STOPPED, E_USAGE, AssayError, in_python

SONAME = "libassay.so.0"


class Error(ctypes.Structure):
    _fields_ = [("code", c_int), ("message", ctypes.c_char * 512), ("hint", ctypes.c_char * 512)]


class Counts(ctypes.Structure):
    _fields_ = [("asked", c_uint64), ("taken", c_uint64), ("late", c_uint64), ("missed", c_uint64)]


_ERR = POINTER(Error)
_OUT = POINTER(c_void_p)

# name: (result, arguments). Calls that can fail return an int and take the error last.
_CALLS = {
    "assay_version": (c_char_p, []),
    "assay_free": (None, [c_void_p]),
    "assay_options_new": (c_void_p, []),
    "assay_options_set": (c_int, [c_void_p, c_char_p, c_char_p, _ERR]),
    "assay_options_free": (None, [c_void_p]),
    "assay_monitor_new": (c_void_p, [c_void_p]),
    "assay_monitor_start": (c_int, [c_void_p, _ERR]),
    "assay_monitor_stop": (c_int, [c_void_p, _ERR]),
    "assay_monitor_running": (c_int, [c_void_p]),
    "assay_monitor_free": (None, [c_void_p]),
    "assay_monitor_latest": (c_int, [c_void_p, _OUT, _ERR]),
    "assay_monitor_next": (c_int, [c_void_p, POINTER(c_uint64), _OUT, _ERR]),
    "assay_monitor_wait": (c_int, [c_void_p, c_uint64, c_double, _ERR]),
    "assay_monitor_counts": (c_int, [c_void_p, POINTER(Counts), _ERR]),
    "assay_monitor_describe": (c_int, [c_void_p, _OUT, _ERR]),
    "assay_monitor_flush": (c_int, [c_void_p, _ERR]),
    "assay_frame_unref": (None, [c_void_p]),
    "assay_frame_json": (c_int, [c_void_p, _OUT, _ERR]),
    "assay_log_open": (c_int, [c_char_p, c_char_p, _OUT, _ERR]),
    "assay_log_phase": (c_int, [c_void_p, c_char_p, c_double, c_char_p, _ERR]),
    "assay_log_begin": (c_int, [c_void_p, c_char_p, c_char_p, _ERR]),
    "assay_log_end": (c_int, [c_void_p, c_char_p, c_char_p, _ERR]),
    "assay_log_event": (c_int, [c_void_p, c_char_p, c_char_p, _ERR]),
    "assay_log_metric": (c_int, [c_void_p, c_char_p, c_double, _ERR]),
    "assay_log_close": (None, [c_void_p]),
    "assay_step": (c_int, [c_char_p, c_double, c_double]),
    "assay_mark_begin": (c_int, [c_char_p]),
    "assay_mark_end": (c_int, [c_char_p]),
    "assay_mark_metric": (c_int, [c_char_p, c_double]),
    "assay_mark_to": (c_int, [c_char_p, _ERR]),
    "assay_mark_recording": (c_int, []),
    "assay_file_describe": (c_int, [c_char_p, _OUT, _ERR]),
    "assay_file_findings": (c_int, [c_char_p, c_void_p, _OUT, _ERR]),
    "assay_findings_json": (c_int, [c_void_p, _OUT, _ERR]),
    "assay_findings_free": (None, [c_void_p]),
    "assay_file_report": (c_int, [c_char_p, c_char_p, c_void_p, _OUT, _ERR]),
    "assay_file_plot": (c_int, [c_char_p, c_char_p, c_void_p, _ERR]),
    "assay_file_convert": (c_int, [c_char_p, c_char_p, c_void_p, _ERR]),
    "assay_diff": (c_int, [POINTER(c_char_p), c_size_t, POINTER(c_char_p), c_size_t, c_char_p, c_void_p, _OUT, _ERR]),
    "assay_resource_summary": (c_int, [c_char_p, c_char_p, c_char_p, _OUT, _ERR]),
    "assay_metric_find": (c_int, [c_char_p]),
    "assay_metric_unit": (c_char_p, [c_int]),
    "assay_figure_find": (c_int, [c_char_p]),
    "assay_figure_unit": (c_char_p, [c_int]),
    "assay_system_figure_find": (c_int, [c_char_p]),
    "assay_system_figure_unit": (c_char_p, [c_int]),
    "assay_table_open": (c_int, [c_char_p, c_char_p, c_void_p, _OUT, _ERR]),
    "assay_table_rows": (c_size_t, [c_void_p]),
    "assay_table_columns": (c_size_t, [c_void_p]),
    "assay_table_name": (c_char_p, [c_void_p, c_size_t]),
    "assay_table_numbers": (c_void_p, [c_void_p, c_size_t]),
    "assay_table_text": (c_char_p, [c_void_p, c_size_t, c_size_t]),
    "assay_table_free": (None, [c_void_p]),
}


def _libraries_of(prefix: Path) -> Iterator[Path]:
    """Where an installation below a prefix keeps its libraries."""
    triplet = sysconfig.get_config_var("MULTIARCH")
    if triplet:
        yield prefix / "lib" / triplet / SONAME
    yield prefix / "lib64" / SONAME
    yield prefix / "lib" / SONAME


def _candidates() -> Iterator[str]:
    """In order: beside the package, the prefix it is installed in, that of the program, the system's."""
    here = Path(__file__).resolve().parent
    yield str(here / SONAME)
    program = shutil.which("assay")
    # …/lib/python3/dist-packages/assay: the prefix is some folders up.
    for prefix in [*list(here.parents)[2:5], *([Path(program).resolve().parents[1]] if program else []),
                   Path(sys.prefix)]:
        for path in _libraries_of(prefix):
            yield str(path)
    if program:
        yield str(Path(program).resolve().parent / SONAME)
    yield SONAME


def _open() -> ctypes.CDLL:
    named = os.environ.get("ASSAY_LIB")
    if named:
        try:
            return ctypes.CDLL(named)
        except OSError as error:
            raise AssayError(-2, f"cannot load '{named}', which ASSAY_LIB names: {error}",
                             f"set ASSAY_LIB to a {SONAME}, or unset it") from None
    for path in _candidates():
        if "/" in path and not os.path.exists(path):
            continue
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    raise AssayError(-2, f"cannot find {SONAME}", "install assay (meson install -C build), or set ASSAY_LIB to the file")


class Library:
    """The functions of the library; each is declared when it is used first."""

    def __init__(self, found: ctypes.CDLL) -> None:
        self._found = found

    @property
    def name(self) -> str:
        """The file it was loaded from."""
        return str(self._found._name)

    def __getattr__(self, name: str) -> Any:
        result, arguments = _CALLS[name]
        try:
            function = getattr(self._found, name)
        except AttributeError:
            raise AssayError(-2, f"'{self._found._name}' has no {name}",
                             "its version does not go with this package; install both from one release") from None
        function.restype = result
        function.argtypes = arguments
        setattr(self, name, function)
        return function


@functools.lru_cache(maxsize=None)
def lib() -> Library:
    """The library, loaded when it is needed first."""
    return Library(_open())


def encode(text: Any) -> Optional[bytes]:
    """A path or an option as C wants it; None stays None."""
    if text is None:
        return None
    raw = os.fsencode(text)
    if b"\0" in raw:
        raise AssayError(E_USAGE, f"{os.fspath(text)!r} has a null character in it", "leave it out")
    return raw


def decode(text: Optional[bytes]) -> Optional[str]:
    return None if text is None else text.decode("utf-8", "replace")


def call(function: Callable[..., int], *args: Any) -> int:
    """Calls what can fail: its result, or AssayError."""
    error = Error()
    code = function(*args, ctypes.byref(error))
    if code < 0:
        raise AssayError(error.code or code, in_python(decode(error.message) or os.strerror(-code)),
                         in_python(decode(error.hint) or ""))
    return code


def text_of(function: Callable[..., int], *args: Any) -> str:
    """Calls what gives a text that we must release."""
    out = c_void_p()
    call(function, *args, ctypes.byref(out))
    try:
        return ctypes.string_at(out.value).decode("utf-8", "replace") if out.value else ""
    finally:
        lib().assay_free(out)


def object_of(function: Callable[..., int], *args: Any) -> Dict[str, Any]:
    """Calls what gives a JSON object."""
    found = json.loads(text_of(function, *args))
    return found if isinstance(found, dict) else {}


# Options that may be given again on a command line: a value a line.
_LINES = ("collect",)


def _plain(value: Any, between: str = ",") -> Optional[str]:
    """An option's value in the words of the program's flags."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple, set, frozenset)):
        return between.join(str(v) for v in value)
    return str(value) if not isinstance(value, os.PathLike) else os.fspath(value)


class Options:
    """A set of options for one call: `with Options({...}) as handle`."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = options
        self._handle: Optional[int] = None

    def __enter__(self) -> Optional[int]:
        self._handle = lib().assay_options_new()
        try:
            for name, value in self._options.items():
                text = _plain(value, "\n" if name in _LINES else ",")
                if text is not None:
                    call(lib().assay_options_set, self._handle, encode(name.replace("_", "-")), encode(text))
        except BaseException:
            self.__exit__()
            raise
        return self._handle

    def __exit__(self, *_: Any) -> None:
        lib().assay_options_free(self._handle)
        self._handle = None


class Handle:
    """Something of the library's that many threads may use: `with handle as pointer`. It is freed when nobody is inside
    a call, and by the process that made it alone; children of fork() may use what is inherited."""

    def __init__(self, name: str, pointer: Any, free: Callable[[], None], inherited: bool = False) -> None:
        self._name = name
        self._inherited = inherited
        self._pointer: Any = pointer
        self._free = free
        self._users = 0
        self._free_to_go = threading.Condition()
        self.owner = os.getpid()

    def __enter__(self) -> Any:
        # Before the lock, which another thread may have held when this process was forked.
        if os.getpid() != self.owner:
            return self._in_child()
        with self._free_to_go:
            pointer = self._open()
            self._users += 1
            return pointer

    def _open(self) -> Any:
        if self._pointer is None:
            raise AssayError(E_STOPPED, f"the {self._name} is closed", "make a new one")
        return self._pointer

    def _in_child(self) -> Any:
        if not self._inherited:
            raise AssayError(E_FORKED, f"the {self._name} belongs to the process before fork()", "make a new one in this process")
        return self._open()

    def __exit__(self, *_: Any) -> None:
        if os.getpid() != self.owner:
            return
        with self._free_to_go:
            self._users -= 1
            self._free_to_go.notify_all()

    def release(self) -> None:
        """Frees; calls of other threads end first. One that hangs keeps what it uses."""
        if os.getpid() != self.owner:
            return
        with self._free_to_go:
            pointer, self._pointer = self._pointer, None
            if pointer is None or not self._free_to_go.wait_for(lambda: self._users == 0, timeout=10):
                return
        self._free()


def lib_version() -> str:
    """The version of the library that is loaded."""
    return decode(lib().assay_version()) or ""
