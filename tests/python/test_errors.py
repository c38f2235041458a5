"""Errors are also the exceptions that Python programs expect, and speak of keywords."""
import copy
import errno
import pickle

import pytest

import assay
from assay.errors import in_python


@pytest.mark.parametrize("make, kinds", [
    (lambda p: assay.open_session(p / "nowhere.assay"), (FileNotFoundError, OSError)),
    (lambda p: assay.Monitor(interval=-1).start(), (ValueError,)),
    (lambda p: assay.Monitor(colour="red"), (ValueError,)),
    (lambda p: assay.Monitor(backend="nvlm"), (ValueError,)),
    (lambda p: assay.Monitor().describe(), (RuntimeError,)),
    (lambda p: broken(p).describe(), (ValueError,)),
    (lambda p: existing(p), (FileExistsError, OSError)),
])
def test_kinds(tmp_path, make, kinds):
    with pytest.raises(assay.AssayError) as raised:
        make(tmp_path)
    error = raised.value
    for kind in kinds:
        assert isinstance(error, kind), type(error).__mro__
    assert "--" not in str(error), "flags are for the command line"
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == str(error) == str(copy.copy(error)) and again.code == error.code
    if isinstance(error, OSError):
        assert error.errno == -error.code and error.strerror == error.message


def broken(folder):
    (folder / "x.assay").write_bytes(b"SQLite format 3\0" + b"\1" * 4096)
    return assay.open_session(folder / "x.assay")


def existing(folder):
    with assay.Monitor(0.1, levels="system") as monitor:
        monitor.wait(5)
    (folder / "there.assay").write_text("mine")
    monitor.save(folder / "there.assay")


@pytest.mark.parametrize("code, kind", [
    (-errno.ENOENT, FileNotFoundError), (-errno.EEXIST, FileExistsError), (-errno.EACCES, PermissionError),
    (-errno.EPERM, PermissionError), (-errno.ETIMEDOUT, TimeoutError), (assay.E_USAGE, ValueError), (assay.E_DATA, ValueError),
    (assay.E_STOPPED, RuntimeError), (assay.E_FORKED, RuntimeError), (assay.E_NO_SOURCE, assay.AssayError),
    (-errno.EIO, assay.AssayError),
])
def test_codes(code, kind):
    error = assay.AssayError(code, "it failed", "do this")
    assert isinstance(error, kind) and isinstance(error, assay.AssayError)
    assert (error.code, error.message, error.hint, str(error)) == (code, "it failed", "do this", "it failed (do this)")


@pytest.mark.parametrize("text, expected", [
    ("--levels: 'x' is not a list of levels", "levels: 'x' is not a list of levels"),
    ("write for example --metrics sm_active,power", "write for example metrics='sm_active,power'"),
    ("add --source FILE, or --source - for standard input", "add source=FILE, or source - for standard input"),
    ("--tag-gpu-memory: too large", "tag_gpu_memory: too large"),
    ("--interval 0 is not a time (write --interval 0.1, --gpus 0,2)", "interval=0 is not a time (write interval=0.1, gpus='0,2')"),
    ("no flag -- here, a--b neither", "no flag -- here, a--b neither"),
])
def test_words(text, expected):
    assert in_python(text) == expected
