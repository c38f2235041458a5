"""The library as a package: exports, ABI, header, pkg-config, example, and how its processes end."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests/lib"))
import abi  # noqa: E402

HEADER = ROOT / "include/assay/assay.h"
TOUR = ROOT / "data/h200-tour.csv"
sanitized = pytest.mark.skipif("SANITIZED" in os.environ, reason="a sanitizer brings symbols of its own")


@pytest.fixture(scope="module")
def build(program):
    folder = pathlib.Path(program).parent
    if not (folder / "libassay.so.0").exists():
        pytest.skip("the library was not built here")
    return folder


@pytest.fixture(scope="module")
def root(build, tmp_path_factory):
    """An installation below a folder."""
    folder = tmp_path_factory.mktemp("root")
    subprocess.run(["meson", "install", "-C", str(build), "--no-rebuild", "--destdir", str(folder)], check=True,
                   capture_output=True)
    return folder


def pkg_config(root, *args):
    env = {"PATH": os.environ["PATH"], "PKG_CONFIG_SYSROOT_DIR": str(root),
           "PKG_CONFIG_LIBDIR": str(next(root.rglob("assay.pc")).parent)}
    return subprocess.run(["pkg-config", *args, "assay"], env=env, check=True, capture_output=True, text=True).stdout.split()


def compile_with(root, source, out):
    """Builds a program as users do; a sanitized library needs a sanitized program."""
    flags = ["-fsanitize=" + os.environ["SANITIZED"]] if "SANITIZED" in os.environ else []
    subprocess.run(["clang" if flags else "cc", "-Wall", "-Wextra", "-Werror", *flags, str(source),
                    *pkg_config(root, "--cflags", "--libs"), f"-Wl,-rpath,{next(root.rglob('libassay.so.0')).parent}", "-o",
                    str(out)], check=True)
    return out


@pytest.fixture(scope="module")
def monitor(root, tmp_path_factory):
    """The example, built from what was installed."""
    return compile_with(root, ROOT / "docs/example/monitor.c", tmp_path_factory.mktemp("example") / "monitor")


def declared():
    return {re.search(r"(assay_\w+)\(", f).group(1) for f in abi.declarations()}


# ---- what leaves the library ----

@sanitized
def test_exports_are_those_declared(build):
    assert {s.split("@")[0] for s in abi.symbols(build)} == declared()
    assert all(s.endswith("@ASSAY_0") for s in abi.symbols(build))


@sanitized
def test_abi_is_the_one_kept(build):
    """A difference is either a mistake or a new soname; lines that are only new go into tests/lib/abi.txt."""
    assert abi.abi(build) == (ROOT / "tests/lib/abi.txt").read_text(), "see tests/lib/abi.py"


def test_soname(build):
    out = subprocess.run(["readelf", "-d", str(build / "libassay.so.0")], capture_output=True, text=True, check=True).stdout
    assert "Library soname: [libassay.so.0]" in out
    assert "NODELETE" in out  # its threads outlive a dlclose


@sanitized
def test_no_state_outside_handles(build):
    """What can be written after relocation is the C runtime's, and where marks of this process go: one call has no handle."""
    out = subprocess.run(["objdump", "-t", str(build / "libassay.so.0")], capture_output=True, text=True, check=True).stdout
    found = {line.split()[-1] for line in out.splitlines()
             if re.search(r"\s(\.data|\.bss|\.tbss|\.tdata)\s", line) and not line.endswith((".data", ".bss"))}
    assert {re.sub(r"\.\d+$", "", name) for name in found} <= {"completed", "__dso_handle", "__TMC_END__",
                                                                        "marker", "marker_lock", "once"}


def test_every_function_has_a_line_in_the_man_page():
    page = (ROOT / "man/libassay.3").read_text().split(".SH EXAMPLE")[0]
    assert declared() == set(re.findall(r"\bassay_\w+", page)) & declared()


def test_man_page_and_header_know_the_same_codes():
    page, header = (ROOT / "man/libassay.3").read_text(), HEADER.read_text()
    codes = set(re.findall(r"ASSAY_E_\w+", header))
    assert codes and all(code in page for code in codes)


# ---- the header ----

@pytest.mark.parametrize("args", [["cc", "-std=c99", "-pedantic"], ["cc", "-std=c17", "-Wstrict-prototypes"],
                                  ["clang", "-std=c99", "-Weverything", "-Wno-padded"],
                                  ["g++", "-x", "c++", "-std=c++11", "-pedantic"]], ids=" ".join)
def test_header_compiles_alone(args, tmp_path):
    if not shutil.which(args[0]):
        pytest.skip(f"no {args[0]}")
    source = tmp_path / "x.c"
    source.write_text("#include <assay/assay.h>\nint main(void) { return assay_version() == 0; }\n")
    done = subprocess.run([*args, "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", "-fsyntax-only", str(source)],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# ---- the example ----

def run(program, *args, **more):
    return subprocess.run([str(program), *args], capture_output=True, text=True, timeout=60, check=False, **more)


def test_example_on_a_capture(monitor):
    done = run(monitor, f"source={TOUR}", "speed=10", "ticks=3")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("GPU 0") == 3 and "power 79" in done.stdout and "idle: real < 5" in done.stdout


def test_example_without_a_gpu(monitor):
    done = run(monitor, "interval=0.1", "ticks=3")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "cpu -- (blank)" in lines[0]  # rates need two ticks, and a missing one is not 0
    assert re.search(r"process  cpu [\d.]+ cores  memory [\d.]+ MiB", lines[-1])


@pytest.mark.parametrize("word, says, hint", [
    ("intervall=1", "unknown option 'intervall'", "did you mean 'interval'?"),
    ("interval=never", "is not a time", ""),
    ("backend=nvml", "cannot be loaded", "install the NVIDIA driver"),
    ("pid=999999999", "999999999", ""),
    ("source=/nonexistent", "'/nonexistent'", ""),
])
def test_example_says_what_is_wrong(monitor, word, says, hint):
    done = run(monitor, word)
    assert done.returncode == 1 and says in done.stderr and hint in done.stderr


def test_example_of_the_man_page(root, tmp_path):
    page = (ROOT / "man/libassay.3").read_text()
    text = page.split(".EX\n")[1].split(".EE")[0].replace("\\en", "\\n").replace("\\&", "")
    (tmp_path / "x.c").write_text(text)
    done = run(compile_with(root, tmp_path / "x.c", tmp_path / "x"))
    assert done.returncode == 0 and re.fullmatch(r"\d+\.\d\d cores\n", done.stdout)


def test_installed(root):
    prefix = root / "usr/local"
    assert (prefix / "include/assay/assay.h").read_text() == HEADER.read_text()
    page = prefix / "share/man/man3/libassay.3"
    done = subprocess.run(["groff", "-K", "utf8", "-man", "-Tutf8", "-ww", "-z", str(page)], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stderr == ""
    assert pkg_config(root, "--variable=program") == ["/usr/local/bin/assay"] or pkg_config(root, "--variable=program")


# ---- how a process with a monitor ends ----

def start(monitor, *args):
    child = subprocess.Popen([str(monitor), "interval=0.1", "ticks=100000", *args], stdout=subprocess.PIPE, text=True)
    for _ in range(4):
        assert child.stdout.readline()
    return child


def test_a_killed_recorder_leaves_its_session(monitor, assay, tmp_path):
    path = tmp_path / "run.assay"
    child = start(monitor, f"output={path}")
    time.sleep(1.2)
    child.kill()
    child.wait()
    child.stdout.close()
    done = assay("report", path, "--format", "json")
    assert done.returncode == 0, done.stderr
    assert int(re.search(r'"ticks_taken": ?(\d+)', done.stdout).group(1)) >= 4


def test_signals_go_to_the_program(monitor):
    child = start(monitor)
    tasks = list(pathlib.Path(f"/proc/{child.pid}/task").iterdir())
    assert len(tasks) >= 3
    for task in tasks:
        blocked = int(re.search(r"SigBlk:\s*(\w+)", (task / "status").read_text()).group(1), 16)
        own = int(task.name) == child.pid
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGALRM):
            assert bool(blocked & 1 << number - 1) != own
    began = time.monotonic()
    child.send_signal(signal.SIGINT)
    child.wait(timeout=10)
    child.stdout.close()
    assert child.returncode == -signal.SIGINT and time.monotonic() - began < 3


def test_returning_from_main_ends_a_running_monitor(root, tmp_path):
    (tmp_path / "x.c").write_text("""
        #include <assay/assay.h>
        int main(void)
        {
                assay_options *o = assay_options_new();
                assay_options_set(o, "interval", "0.1", 0);
                return assay_monitor_start(assay_monitor_new(o), 0) < 0;
        }""")
    env = dict(os.environ, ASAN_OPTIONS="detect_leaks=0")
    began = time.monotonic()
    assert run(compile_with(root, tmp_path / "x.c", tmp_path / "x"), env=env).returncode == 0
    assert time.monotonic() - began < 10
