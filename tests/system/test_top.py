"""The dashboard in a real terminal: tmux is the terminal, the test is the user."""
import fcntl
import http.server
import importlib.util
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import threading
import time

import pytest

from conftest import ROOT
from drm_tree import Tree, fdinfo

HERE = pathlib.Path(__file__).resolve().parent
TOUR = HERE.parent / "fixtures" / "tour" / "h200-tour.dmon.txt"
GOLDEN = HERE.parent / "golden" / "tui"
PROMPT = re.compile(r"^\$\s*\Z", re.M)  # the last thing on the screen
TOUR_ARGS = f"--source {TOUR} --poll 0.1"

pytestmark = pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed")


class Terminal:
    """A tmux window with a shell in it."""

    def __init__(self, program, folder, width=80, height=24, env=None):
        self.program, self.folder = program, folder
        self.socket = str(folder / "tmux")
        clean = {"PATH": os.environ["PATH"], "HOME": str(folder), "TZ": "UTC", "LANG": "C.UTF-8",
                 "TERM": "xterm-256color", "SHELL": "/bin/sh", "PS1": "$ ", "ENV": "",
                 "TSAN_OPTIONS": "atexit_sleep_ms=0", "LSAN_OPTIONS": os.environ["LSAN_OPTIONS"]}
        clean.update(env or {})
        self.env = clean
        self.tmux("-f", "/dev/null", "new-session", "-d", "-c", str(folder), "-x", str(width), "-y", str(height),
                  "env", "-i", *[f"{k}={v}" for k, v in clean.items()],
                  "TERM=tmux-256color" if "TERM" not in (env or {}) else f"TERM={env['TERM']}",
                  "/bin/bash", "--norc", "--noprofile", "-i")
        self.wait(PROMPT)

    def tmux(self, *args):
        return subprocess.run(["tmux", "-S", self.socket, *args], capture_output=True, text=True,
                              check=True, env={**os.environ, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}).stdout

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True, check=False)

    def screen(self, *args):
        return self.tmux("capture-pane", "-p", *args)

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def type(self, text):
        self.tmux("send-keys", "-l", text)
        self.keys("Enter")

    def resize(self, width, height):
        self.tmux("resize-window", "-x", str(width), "-y", str(height))

    def wait(self, text, timeout=5.0):
        """Until the screen contains text (a string or a pattern); gives the screen."""
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            screen = self.screen()
            if text.search(screen) if isinstance(text, re.Pattern) else text in screen:
                return screen
            time.sleep(0.03)
        raise AssertionError(f"{text!r} did not appear:\n{self.screen()}")

    def start(self, args=TOUR_ARGS, show="1 Fleet"):
        self.type(f"stty -a >before; {self.program} top {args}; echo rc=$?; stty -a >after")
        return self.wait(show)

    def pid(self):
        """Of the dashboard: the child of the pane's shell."""
        shell = self.tmux("display-message", "-p", "#{pane_pid}").strip()
        return int(subprocess.run(["pgrep", "-P", shell], capture_output=True, text=True,
                                  check=True).stdout.split()[0])

    def modes(self, name):
        """What stty -a said, less the size."""
        return re.sub(r"rows \d+; columns \d+;", "", (self.folder / name).read_text())

    def intact(self):
        """The terminal is as it was: modes, screen, cursor, mouse."""
        self.wait(re.compile(r"rc=\d+\s*\n\$"))
        until = time.monotonic() + 5
        while not self.modes("after") and time.monotonic() < until:  # the shell has only just opened it
            time.sleep(0.03)
        assert self.modes("before") == self.modes("after")
        state = self.tmux("display-message", "-p",
                          "#{alternate_on} #{cursor_flag} #{mouse_any_flag} #{keypad_cursor_flag}")
        assert state.split() == ["0", "1", "0", "0"]
        return int(re.search(r"rc=(\d+)", self.screen()).group(1))


@pytest.fixture
def terminal(program, tmp_path, monkeypatch):
    """Opens terminals that are closed at the end."""
    opened = []
    monkeypatch.chdir(tmp_path)

    def open_terminal(*args, **kwargs):
        opened.append(Terminal(program, tmp_path, *args, **kwargs))
        return opened[-1]

    yield open_terminal
    for t in opened:
        t.close()


def test_quits_and_leaves_no_trace(terminal):
    t = terminal()
    t.start()
    t.keys("q")
    assert t.intact() == 0
    assert "1 Fleet" not in t.screen()


@pytest.mark.parametrize("width,height", [(80, 24), (100, 30), (140, 40), (220, 60)])
@pytest.mark.parametrize("view", ["fleet", "focus", "plot"])
def test_shows_the_golden_screen(terminal, view, width, height):
    """What the terminal shows is what the canvas held: the copy phase of the tour."""
    t = terminal(width, height)
    t.start(f"{TOUR_ARGS} --at 42 --speed 0.01 --view {view}", show="42.0 s")
    golden = (GOLDEN / f"tour-{view}-{width}x{height}.txt").read_text().split("\n--\n")[0].split("\n")
    # A large screen comes in several pieces: the time at its top is there before its bottom.
    shown, end = [], time.monotonic() + 10
    while shown[1:height - 1] != golden[1:height - 1] and time.monotonic() < end:
        shown = [line.rstrip() for line in t.screen().split("\n")[:height]]
    assert shown[1:height - 1] == golden[1:height - 1]


def test_copy_phase_is_seen_for_what_it_is(terminal):
    t = terminal()
    screen = t.start(f"{TOUR_ARGS} --at 42 --speed 0.01", show="I/O or data-loading")
    assert re.search(r"util +100%", screen)
    assert re.search(r"SM +0%", screen)
    t.keys("2")
    assert "limited by copies over the link" in t.wait("PCIe rate"), "the bytes, as a capture does not tell the link"


def test_ascii_by_locale(terminal):
    t = terminal(env={"LANG": "C"})
    screen = t.start(f"{TOUR_ARGS} --at 42 --speed 0.01", show="42.0 s")
    golden = (GOLDEN / "tour-fleet-80x24-ascii.txt").read_text().split("\n--\n")[0].split("\n")
    assert screen.isascii()
    assert [line.rstrip() for line in screen.split("\n")[1:23]] == golden[1:23]


COLOUR = re.compile(r"\x1b\[[0-9;]*\b(3[0-8]|4[0-8]|9[0-7])\b")


def test_colours_and_none(terminal):
    t = terminal()
    t.start()
    assert COLOUR.search(t.screen("-e"))
    t.keys("q")
    t.intact()
    t.type(f"clear; NO_COLOR=1 {t.program} top {TOUR_ARGS}")
    t.wait("1 Fleet")
    assert not COLOUR.search(t.screen("-e"))


@pytest.mark.parametrize("term", ["xterm", "linux", "vt220", "screen-16color", "xterm-direct", "tmux-256color"])
def test_terminals(terminal, term):
    if subprocess.run(["infocmp", term], capture_output=True, check=False).returncode != 0:
        pytest.skip(f"no terminfo entry for {term}")
    t = terminal(env={"TERM": term})
    t.start()
    t.keys("q")
    assert t.intact() == 0


def test_refuses_a_dumb_terminal(terminal):
    t = terminal(env={"TERM": "dumb"})
    t.type(f"{t.program} top {TOUR_ARGS}")
    t.wait("cannot show the dashboard")


EVERY_KEY = ["Up", "Down", "Left", "Right", "PPage", "NPage", "Home", "End", "Tab", "BTab", "Enter",
             "Escape", "F1", "Escape", *"12345kjhlgGsrcamMzZiotTw.,<>[]+-=", "?", "q", "d", "q",
             "Space", "p", "C-l", "x", "BSpace", "F9", "IC", "DC", "F5"]


@pytest.mark.slow
def test_every_key(terminal):
    t = terminal(120, 40)
    t.start()
    for view in "12345":
        t.keys(view)
        for key in EVERY_KEY:
            t.keys(key)
            time.sleep(0.02)
    t.keys("Escape")
    time.sleep(0.2)
    t.keys("Escape", "1")
    t.wait("Real")
    t.keys("q")
    assert t.intact() == 0


def test_views_by_key_and_command(terminal):
    t = terminal()
    t.start()
    for key, text in [("2", "clock "), ("3", "values at"), ("4", "names no processes"),
                      ("5", "nothing about the host"), ("d", "problems now"), ("?", "keys")]:
        t.keys(key)
        t.wait(text)
    t.keys("Escape", "1")
    t.wait("Real")
    t.keys(":")
    t.type("plot pcie_rx")
    t.wait("pcie_rx")
    t.keys(":")
    t.type("focus 0")
    t.wait("clock ")
    t.keys(":")
    t.type("focs")
    t.wait("did you mean focus")
    # :q leaves the view, as Esc does; the fleet is left by leaving the dashboard.
    t.keys(":")
    t.type("q")
    t.wait("Enter focus")
    t.keys(":")
    t.type("q")
    assert t.intact() == 0


def test_focus_on_a_gpu(terminal):
    """The view of the GPU that was named, at once; one that is not there is told."""
    t = terminal()
    t.start(f"{TOUR_ARGS} --focus-gpu 0", show="clock")
    t.keys("q")
    t.wait("rc=0")
    t.start(f"{TOUR_ARGS} --focus-gpu 7", show="there is no GPU '7'")


def test_host_view_fills(terminal):
    t = terminal(width=100, height=30)
    t.start(f"{TOUR_ARGS} --host --view host", show="5 Host")
    t.wait("load")
    screen = t.wait("system")
    assert "user" in screen and "Threads" in screen


def test_filter(terminal):
    t = terminal()
    t.start(f"{TOUR_ARGS} --at 42 --speed 0.01")
    t.keys("/")
    t.tmux("send-keys", "-l", "nothing")
    t.wait("none of 1 GPUs contains")
    t.keys("Escape")
    t.wait("I/O or data-loading")


def test_replay_pause_seek_step_speed(terminal):
    t = terminal()
    t.start()
    t.keys("p")
    t.wait("paused at")
    t.keys(":")
    t.type("seek 42")
    t.wait("paused at 42.0 s")
    t.keys(".")
    t.wait("paused at 42.1 s")
    t.keys(",")
    t.wait("paused at 42.0 s")
    t.keys("<")
    t.wait("paused at 37.0 s")
    t.keys(">")
    t.wait("paused at 42.0 s")
    t.keys("]")
    t.keys("p")
    t.wait("×2")
    t.keys(":")
    t.type("seek 9999")
    t.wait("end of the capture")
    t.keys(":")
    t.type("seek 1")
    t.wait(re.compile(r"replay [123]\.\d s"))


def test_resize_storm(terminal):
    t = terminal()
    t.start()
    for i in range(60):
        t.resize(20 + i * 37 % 180, 3 + i * 11 % 55)
    t.resize(10, 3)
    t.wait("too")
    t.resize(100, 30)
    screen = t.wait("Real")
    assert "? help" in screen.split("\n")[29]
    t.keys("q")
    assert t.intact() == 0


def test_suspend_and_resume(terminal):
    t = terminal()
    t.start()
    t.keys("C-z")
    t.wait("Stopped")
    t.type("stty -a >stopped; echo shell")
    t.wait("shell\n$")
    assert t.modes("stopped") == t.modes("before")
    t.keys("f", "g", "Enter")
    t.wait("1 Fleet")
    t.keys("q")
    t.wait(PROMPT)
    state = t.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag}")
    assert state.split() == ["0", "1"]


@pytest.mark.parametrize("number,status", [(signal.SIGTERM, 0), (signal.SIGINT, 0), (signal.SIGHUP, 0),
                                           (signal.SIGQUIT, 0), (signal.SIGSEGV, 139),
                                           (signal.SIGABRT, 134), (signal.SIGBUS, 135)])
def test_signals_give_the_terminal_back(terminal, number, status):
    t = terminal()
    t.start()
    os.kill(t.pid(), number)
    assert t.intact() == status


def test_ends_in_the_background(terminal):
    """timeout in a script puts its command into the background: it is stopped there, as any program that wants the terminal, and still ends."""
    t = terminal()
    t.type(f"stty -a >before; sh -c 'timeout 1 {t.program} top {TOUR_ARGS}; echo rc=$?'; stty -a >after")
    t.keys("Enter")  # what is typed meanwhile is the shell's
    assert t.intact() == 124


def test_ends_when_the_shell_has_the_terminal(terminal):
    t = terminal()
    t.start()
    pid = t.pid()
    os.kill(pid, signal.SIGSTOP)
    t.wait("Stopped")
    os.kill(pid, signal.SIGTERM)
    os.kill(pid, signal.SIGCONT)
    until = time.monotonic() + 5
    while pathlib.Path(f"/proc/{pid}").exists() and time.monotonic() < until:
        time.sleep(0.05)
        t.keys("Enter")  # the shell looks after its jobs
    assert not pathlib.Path(f"/proc/{pid}").exists()


@pytest.mark.slow
def test_hung_source(terminal):
    """A source that stops answering: the screen lives, the age counts, q is immediate."""
    t = terminal()
    lines = TOUR.read_text().split("\n")
    fifo = t.folder / "fifo"
    os.mkfifo(fifo)
    t.type(f"{t.program} top --source {fifo} --poll 0.1 --speed 200")
    t.wait("no sample yet")
    with open(fifo, "w", encoding="utf-8") as f:
        f.write("\n".join(lines[:900]) + "\n")
        f.flush()
        t.wait("Real")
        first = t.wait(re.compile(r"no news for \d")).split("no news for ")[1].split()[0]
        t.wait(re.compile(r"no news for [5-9]"), timeout=8)
        assert float(first) < 5
        t.keys("2")
        t.wait("clock ")
        start = time.monotonic()
        t.keys("q")
        t.wait(PROMPT, timeout=2)
        assert time.monotonic() - start < 1


class Exporter(http.server.BaseHTTPRequestHandler):
    """As much of dcgm-exporter as a dashboard needs."""

    def do_GET(self):
        body = "".join(f'{name}{{gpu="0",UUID="GPU-1",modelName="NVIDIA H200",Hostname="node1"}} {v}\n'
                       for name, v in [("DCGM_FI_DEV_GPU_UTIL", 100), ("DCGM_FI_DEV_POWER_USAGE", 129.5),
                                       ("DCGM_FI_PROF_SM_ACTIVE", 0.01)]).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args):
        pass


def test_live_source(terminal):
    """An exporter on the loopback: values, another interval, the doctor."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Exporter)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        t = terminal(100, 30)
        t.start(f"--source http://127.0.0.1:{server.server_port}/metrics", show="every 1 s")
        assert re.search(r"util +100%", t.wait("GPU 0 H200"))
        t.keys("+")
        t.wait("every 2 s")
        t.keys("<")
        t.wait("live")
        t.keys("d")
        t.wait(" checks")
        t.keys("Escape", "p")
        t.wait("paused at")
        t.keys("q")
        assert t.intact() == 0
    finally:
        server.shutdown()
        server.server_close()


def test_the_doctor_of_a_list(terminal):
    """Three exporters are three, in the titles and for the doctor."""
    servers = [http.server.ThreadingHTTPServer(("127.0.0.1", 0), Exporter) for _ in range(2)]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        t = terminal(140, 40)
        addresses = ",".join(f"http://127.0.0.1:{server.server_port}/metrics" for server in servers)
        t.start(f"--source {addresses},http://127.0.0.1:1/metrics", show="3 nodes")
        t.keys("d")
        assert re.search(r"exporter +2 of 3 answer", t.wait("of 3 answer", 20)) and "404" not in t.screen()
        t.wait(" checks ─", 20)
        assert not re.search(r"^ *(GPU|driver|library|device files|verdicts|AMD, Intel) ", t.screen(), re.M), "this machine's GPUs are not watched"
        t.keys("Escape", "q")
        assert t.intact() == 0
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()


def test_host_of_a_local_source(terminal):
    """A source of this machine brings this machine's CPU, memory and levels."""
    t = terminal(120, 40)
    t.start(f"--backend dcgm --dcgmi {HERE.parent / 'fakes' / 'dcgmi'} --poll 1", show="GPU 1")
    assert re.search(r"CPU +\d+%  RAM", t.wait("RAM"))
    t.keys("5")
    screen = t.wait("Level")
    assert re.search(r"system +\d+\.\d", screen)
    t.keys("q")
    assert t.intact() == 0


def test_gpus_are_named_before_the_driver_answers(terminal, program, tmp_path):
    """Its library takes seconds to start; the kernel's driver has the names."""
    for i, model in enumerate(["NVIDIA H200", "NVIDIA H200", "Tesla T4"]):
        gpu = tmp_path / f"root/proc/driver/nvidia/gpus/0000:0{i}:00.0"
        gpu.mkdir(parents=True)
        (gpu / "information").write_text(f"Model: \t\t {model}\nIRQ:   \t\t 5\n")
    scenario = tmp_path / "slow.scn"
    scenario.write_text("nvmlInit_v2 = 0 delay 60000\n" + (HERE.parent / "fixtures/nvml/h200-idle.scn").read_text())
    t = terminal(env={"FAKE_NVML": str(scenario), "ASSAY_NVML_LIB": str(pathlib.Path(program).parent / "tests/libnvidia-ml-fake.so")})
    screen = t.start(f"--root {tmp_path}/root", show="no sample yet")
    assert "2 NVIDIA H200" in screen and "1 Tesla T4" in screen
    t.keys("q")
    assert t.intact() == 0


SPINNER = """import json
def spin():
    while True:
        json.dumps(list(range(200)))
spin()
"""


def test_the_line_that_a_process_is_in(terminal, program, tmp_path):
    """In the job view, thread by thread with S, and behind the limiter in focus; never with --stacks off."""
    script, scenario = tmp_path / "spin.py", tmp_path / "held.scn"
    script.write_text(SPINNER)
    with subprocess.Popen([sys.executable, str(script)]) as holder:
        try:
            recorded = (HERE.parent / "fixtures/nvml/h200-bf16.scn").read_text()
            idle = re.sub(r"(?m)^(gpm/\d+) = 0 .*", r"\1 = 0 0", recorded).replace("UtilizationRates = 0 99 22", "UtilizationRates = 0 0 0")
            scenario.write_text(re.sub(r"(ComputeRunningProcesses_v3 = 0 )\d*:", rf"\g<1>{holder.pid}:", idle, count=1).replace("437:", f"{holder.pid}:"))
            t = terminal(160, 40, env={"FAKE_NVML": str(scenario), "ASSAY_NVML_LIB": str(pathlib.Path(program).parent / "tests/libnvidia-ml-fake.so")})
            t.start("--read-only --view job", show=str(holder.pid))
            t.wait("spin.py:4 spin", timeout=30)
            t.keys("S")
            screen = t.wait("CPython", timeout=30)
            assert "main" in screen and "looks" in screen
            t.wait("spin.py:5", timeout=30)
            t.keys("Escape")
            t.wait("Command")
            t.keys("2")
            t.wait(re.compile(r"where +\d+ % .* spin.py:4 spin.*looks in \d+ s"), timeout=30)
            t.keys("q")
            assert t.intact() == 0
            # A recording has the lines of its time.
            subprocess.run([program, "record", "-q", "--interval", "0.2", "--duration", "4", "-o", str(tmp_path / "x.assay")], check=True,
                           env={**os.environ, **t.env}, timeout=60)
            t.start("x.assay --view job --at 3 --speed 0.01", show="spin.py:4 spin")
            t.keys("S")
            t.wait("spin.py:5")
            t.keys("q")
            assert t.intact() == 0
            t.start("--read-only --view job --stacks off", show=str(holder.pid))
            time.sleep(2.5)
            assert "spin.py:4" not in t.screen()
            t.keys("S")
            t.wait("--stacks off")
            t.keys("q")
        finally:
            holder.kill()


def test_processes_come_with_the_first_sample(terminal, tmp_path):
    tree = Tree(tmp_path / "root").add("rx7900")
    tree.process(70, {3: ("/dev/dri/renderD129", fdinfo("amdgpu", 9, "0000:03:00.0", memory_vram="2 GiB"))})
    t = terminal(200, 50)
    t.start(f"--backend drm --root {tree.root} --poll 30", show="every 30 s")
    for view in "24":
        t.keys(view)
        t.wait(" 70 ")
    t.keys("q")
    assert t.intact() == 0


def test_capture_on_standard_input(terminal):
    t = terminal()
    t.type(f"{t.program} top --source - --poll 0.1 <{TOUR}")
    t.wait("Real")
    t.keys("<")
    t.wait("cannot go back")
    t.keys("q")
    t.wait(PROMPT)


def test_saves_preferences(terminal):
    t = terminal()
    config = t.folder / ".config" / "assay" / "config"
    config.parent.mkdir(parents=True)
    config.write_text("# mine\npoll = 0.1\ntheme = dark\n\n[other]\n")
    t.start(f"--source {TOUR}")
    t.keys("T")
    t.wait("theme light")
    t.keys("3", "w")
    t.wait("saved to")
    assert config.read_text() == ("# mine\npoll = 0.1\ntheme = light\n\nview = plot\nlayout = auto\n"
                                  "sort = gpu\n[other]\n")
    t.keys("q")
    t.intact()
    t.type(f"clear; {t.program} --source {TOUR}")
    t.wait("values at")


def test_needs_a_terminal(assay):
    done = assay("top", "--source", TOUR)
    assert done.returncode == 2
    assert "assay once" in done.stderr


def test_without_a_terminal_no_command_means_once(assay):
    done = assay("--source", TOUR)
    assert done.returncode == 0
    assert "Class" in done.stdout


def test_bad_source_is_told_on_the_shells_screen(terminal):
    t = terminal()
    t.type(f"{t.program} top --source /nowhere; echo rc=$?")
    screen = t.wait("rc=3")
    assert "no such file: '/nowhere'" in screen


def start_on_pty(program, folder, *args):
    """The dashboard on a bare pseudo-terminal of 80 columns; gives its pid and the other end."""
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        os.environ.update(TERM="xterm-256color", LANG="C.UTF-8", HOME=str(folder))
        os.execv(program, [program, "top", "--source", str(TOUR), "--poll", "0.1", *args])
    return pid, fd


def read_until(fd, text):
    seen = b""
    while text not in seen:
        assert select.select([fd], [], [], 5)[0], f"no {text!r} in {seen[-300:]!r}"
        seen += os.read(fd, 65536)
    return seen


def quit_pty(pid, fd):
    os.write(fd, b"q")
    while True:
        try:
            if not os.read(fd, 65536):
                break
        except OSError:
            break
    os.close(fd)
    assert os.waitpid(pid, 0)[1] == 0


def test_mouse(program, tmp_path):
    """A click on a tab, the wheel in the plot; sequences may come in pieces."""
    pid, fd = start_on_pty(program, tmp_path, "--at", "42", "--speed", "0.01")
    assert b"\x1b[?1006h" in read_until(fd, b"data-loading")
    os.write(fd, b"\x1b[<0;20;1M\x1b[<0;20;1m")
    read_until(fd, b"absent")
    os.write(fd, b"\x1b[<0;30;1")
    time.sleep(0.01)
    os.write(fd, b"M\x1b[<0;30;1m")
    read_until(fd, b"values at")
    os.write(fd, b"\x1b[<64;40;10M")
    read_until(fd, b"30 s")
    quit_pty(pid, fd)


def test_no_frame_when_nothing_changes(program, tmp_path):
    """A paused capture costs no byte and next to no CPU."""
    pid, fd = start_on_pty(program, tmp_path)
    read_until(fd, b"Real")
    os.write(fd, b"p")
    read_until(fd, b"paused")
    time.sleep(0.3)
    while select.select([fd], [], [], 0.2)[0]:
        os.read(fd, 65536)
    assert not select.select([fd], [], [], 1.2)[0]
    quit_pty(pid, fd)


def first_frame_ms(program, folder):
    """From exec to the first frame."""
    start = time.monotonic()
    pid, fd = start_on_pty(program, folder)
    read_until(fd, b"Fleet")
    took = (time.monotonic() - start) * 1000
    quit_pty(pid, fd)
    return took


@pytest.mark.quiet
def test_first_frame_is_quick(program, tmp_path):
    """The best of five, because others use this machine too."""
    assert min(first_frame_ms(program, tmp_path) for _ in range(5)) < 50


def wait_for_status(pid, seconds):
    """The exit status of a child as the shell has it; None when it does not end in time."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def takes_signals_itself(pid):
    """Whether it has begun to take signals in its own time."""
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        blocked = next(int(line.split()[1], 16) for line in f if line.startswith("SigBlk"))
    return blocked >> (signal.SIGTERM - 1) & 1


def stall_before(pid, fd):
    """Nothing is ever read; the terminal was full already."""
    until = time.monotonic() + 20
    while not takes_signals_itself(pid):
        assert time.monotonic() < until
        time.sleep(0.01)


def stall_between_frames(pid, fd):
    """The reader goes away, and screen after screen is drawn anew until the terminal takes no more."""
    read_until(fd, b"Real")
    for n in range(300):
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40 + n % 2, 200, 0, 0))
        os.kill(pid, signal.SIGWINCH)
        time.sleep(0.005)


def fill_terminal():
    """In the child: until the terminal takes nothing more."""
    os.set_blocking(1, False)
    try:
        while True:
            os.write(1, b"x" * 1000)
    except BlockingIOError:
        os.set_blocking(1, True)


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
@pytest.mark.parametrize("stall", [stall_before, stall_between_frames])
def test_a_terminal_that_does_not_read_keeps_nobody(program, tmp_path, sig, stall):
    """A stalled ssh. The shell's modes are given back all the same."""
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", LANG="C.UTF-8", HOME=str(tmp_path))
        if stall is stall_before:
            fill_terminal()
        os.execv(program, [program, "top", "--source", str(TOUR), "--poll", "0.1", "--speed", "100"])
    stall(pid, fd)
    os.kill(pid, sig)
    assert wait_for_status(pid, 5) == 0
    assert termios.tcgetattr(fd)[3] & termios.ICANON and termios.tcgetattr(fd)[3] & termios.ECHO
    os.close(fd)


def test_four_thousand_gpus(terminal, tmp_path):
    """Of 512 nodes: the last one is found, every view is drawn, and it stays small."""
    names = ("DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_PROF_SM_ACTIVE")
    (tmp_path / "big.prom").write_text("".join(f'{name}{{gpu="{i % 8}",UUID="GPU-{i:08x}",modelName="NVIDIA H100 80GB HBM3",Hostname="node{i // 8:04d}"}} 1\n'
                                               for name in names for i in range(4096)))
    t = terminal(120, 40)
    t.start("--source big.prom", show="4096 GPUs")
    t.keys("G")
    t.wait("node0511:7")
    for key in ("2", "3", "4", "5", "1"):
        t.keys(key)
    t.wait("4096 GPUs")
    status = pathlib.Path(f"/proc/{t.pid()}/status").read_text(encoding="ascii")
    assert int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) < 150_000 or os.environ.get("SANITIZED")
    t.keys("q")
    assert t.intact() == 0


@pytest.mark.quiet
def test_the_first_screen_names_the_gpu_within_a_tenth_of_a_second(program, tmp_path):
    """And does not wait for counters, whose first window takes longer."""
    spec = importlib.util.spec_from_file_location("bench_top", ROOT / "tests/bench/bench_top.py")
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    build = pathlib.Path(program).parent
    env = {"TERM": "xterm-256color", "LANG": "C.UTF-8", "PATH": os.environ["PATH"], "HOME": str(tmp_path), "FAKE_NVML": str(bench.SCENARIO), "ASSAY_NVML_LIB": str(build / "tests/libnvidia-ml-fake.so")}
    name, counters = (min(bench.until_seen([program, "top"], text, env) for _ in range(5)) for text in (b"H200", b"tensor-heavy"))
    assert name <= 100 and name < counters / 2, (name, counters)


def test_a_seek_fills_the_past_of_the_host(terminal):
    """That of the GPUs is filled by a seek; the host's was empty beside it."""
    t = terminal(width=120, height=40)
    t.start(f"{ROOT / 'docs' / 'example' / 'tour.assay'} --at 10 --speed 0.001")
    t.keys("5")
    for seconds, least in ((80, 50), (30, 25), (60, 50)):
        t.keys(":")
        t.type(f"seek {seconds}")
        screen = t.wait(re.compile(rf" {seconds}\.\d s +━"))
        cpu = max(sum(c in "▁▂▃▄▅▆▇█" for c in line[:60]) for line in screen.splitlines()[2:6])
        assert least <= cpu <= seconds + 1, screen
