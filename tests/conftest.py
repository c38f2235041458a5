"""What the tests around the program share."""
import json
import os
import pathlib
import signal
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
FIXTURES = HERE / "fixtures"


class Popen(subprocess.Popen):
    """A test that fails inside `with` ends what it started; it would wait for it for ever."""

    def __exit__(self, kind, value, traceback):
        if kind is not None:
            self.kill()
        super().__exit__(kind, value, traceback)


subprocess.Popen = Popen


def pytest_configure(config):
    # A program built for the thread sanitizer sleeps a second before it ends, which tests of time would count.
    os.environ.setdefault("TSAN_OPTIONS", "atexit_sleep_ms=0")
    # fontconfig, which cairo draws letters with, and OpenSSL below libcurl free less than they allocate.
    os.environ.setdefault("LSAN_OPTIONS", f"print_suppressions=0:suppressions={HERE / 'lint' / 'leaks.txt'}")
    # Shells start background jobs with SIGINT ignored, and what a test starts would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "slow: takes more than a few seconds; left out by --quick")
    config.addinivalue_line("markers", "long: proves by numbers what a shorter test shows; './dev attack' begins with these")
    config.addinivalue_line("markers", "quiet: measures the machine; nothing runs beside it")


def pytest_collection_modifyitems(config, items):
    """Long ones run only when they are asked for."""
    if "long" not in config.option.markexpr:
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("long")])
        items[:] = [item for item in items if not item.get_closest_marker("long")]


def pytest_runtest_logreport(report):
    tell_failed(report)


def pytest_collectreport(report):
    tell_failed(report)


def tell_failed(report):
    """Names of failed tests, for tests/run.py, which runs them again."""
    path = os.environ.get("ASSAY_FAILED")
    if path and report.failed:
        with open(path, "a", encoding="ascii") as file:
            file.write(json.dumps(report.nodeid) + "\n")


def tried(what, n=1):
    """Counts hostile files, kills and faults; tests/run.py tells how many there were."""
    path = os.environ.get("ASSAY_TRIED")
    if path:
        with open(path, "a", encoding="ascii") as file:
            file.write(f"{n} {what}\n")


@pytest.fixture(scope="session")
def program():
    """The program under test."""
    return os.path.abspath(os.environ.get("ASSAY", ROOT / "build" / "assay"))


def clean_env(home):
    """An environment that chooses nothing."""
    return {"PATH": os.environ["PATH"], "TSAN_OPTIONS": os.environ["TSAN_OPTIONS"], "LSAN_OPTIONS": os.environ["LSAN_OPTIONS"], "HOME": str(home), "TZ": "UTC",
            "LANG": "C.UTF-8"}


@pytest.fixture
def assay(program, tmp_path):
    """Runs assay with a clean environment; gives the finished process, text captured."""

    def run(*args, env=None, stdin=None, timeout=30, text=True):
        clean = {**clean_env(tmp_path), **(env or {})}
        return subprocess.run([program, *map(str, args)], env=clean, input=stdin, timeout=timeout,
                              capture_output=True, text=text, check=False)

    return run
