"""A kubelet that lies: whatever it answers, the page of metrics stays well-formed and small, and the server lives."""
import itertools
import os
import re
import socket
import threading
import time

import pytest

from conftest import FIXTURES, tried
from serving import Server, samples
from test_crafted import ESCAPE, is_quiet
from test_serve_owners import UUID0, UUID1, field, kubelet, owners, pod

MIG = FIXTURES / "exposition" / "mig.prom"
EVIL = 'a"} 1\nassay_gpu_up{gpu="7"} 1\n# HELP x \\' + ESCAPE
GPU = {"nvidia.com/gpu": [UUID1]}


def serving(program, folder, *args):
    return Server(program, folder, MIG, "-k", "--pod-resources-kubelet-socket", folder / "k.sock", *args)


def look(s):
    """What is told: every line parses, nothing is twice, and no name breaks out of its label."""
    tried("hostile files")
    text = s.metrics()
    assert is_quiet(text) and 'gpu="7"' not in re.sub(r'"(\\.|[^"\\])*"', lambda m: m.group().replace('gpu=\\"7', ""), text)
    found = samples(text)
    assert all(re.fullmatch(r'\w+(\{(\w+="(\\.|[^"\\\n])*",?)*\})?', name) for name in found)
    assert s.ask("/api/v1/now")[0] == 200
    return found


ANSWERS = {
    "evil names": lambda: pod(EVIL, EVIL, (EVIL, GPU)),
    "evil resources": lambda: pod("a", "b", ("c", {EVIL: [UUID1], "nvidia.com/gpu": [EVIL, UUID1 + EVIL, "", "::", f"{UUID1}::{EVIL}"]})),
    "no letters": lambda: field(1, field(1, b"\xff\xfe\x80") + field(2, b"\xc0\xaf") + field(3, field(1, b"\xed\xa0\x80") + field(2, field(1, "nvidia.com/gpu") + field(2, UUID1)))),
    "long names": lambda: pod("p" * 1_000_000, "n" * 1_000_000, ("c" * 1_000_000, GPU)),
    "everybody": lambda: b"".join(pod(f"p{i}", f"n{i}", ("c", GPU)) for i in range(5000)) + pod("last", "fair", ("c", {"nvidia.com/gpu": [UUID0]})),
    "one has all": lambda: pod("p", "n", ("c", {"nvidia.com/gpu": [UUID0, UUID1] * 50_000})),
    "many containers": lambda: pod("p", "n", *((f"c{i}", GPU) for i in range(5000))),
    "deep": lambda: deep(200),
    "unknown fields": lambda: b"".join(field(n, os.urandom(50)) for n in range(2, 200)) + pod("p", "n", ("c", GPU)),
    "empty pods": lambda: field(1, b"") * 100_000,
    "lengths that wrap": lambda: b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" + b"\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
    "dynamic resources": lambda: field(1, field(1, "p") + field(2, "n") + field(3, field(1, "c") + field(5, field(1, EVIL) + field(2, EVIL) + field(4, field(1, field(1, EVIL) + field(1, UUID1)))))),
}


def deep(n):
    data = b""
    for _ in range(n):
        data = field(1, data) + field(3, data[:1000])
    return data


@pytest.mark.parametrize("kind", ANSWERS)
def test_what_it_answers(program, tmp_path, kind):
    answer = ANSWERS[kind]()
    with kubelet(tmp_path / "k.sock", lambda: answer), serving(program, tmp_path, "--owner-labels") as s:
        s.ready()
        end = time.monotonic() + 2.5
        while time.monotonic() < end:
            found = look(s)
            time.sleep(0.3)
        told = [name for name in found if name.startswith("assay_gpu_owner_info")]
        assert kind != "everybody" or [name for name in told if 'pod="last"' in name], "one GPU's owners took the place of another's"
        assert len(told) <= 2 * 64 + 2 and max([len(name) for name in told] or [0]) < 1200
        with open(f"/proc/{s.process.pid}/status", encoding="ascii") as file:
            assert int(re.search(r"VmHWM:\s+(\d+)", file.read()).group(1)) < 120_000


def test_new_pods_without_end(program, tmp_path):
    """Each answer names others: what is told stays bounded."""
    count = itertools.count()
    with kubelet(tmp_path / "k.sock", lambda: b"".join(pod(f"p{next(count)}", "n", ("c", GPU)) for _ in range(50))), serving(program, tmp_path) as s:
        s.ready()
        end = time.monotonic() + 4
        while time.monotonic() < end:
            assert len([n for n in look(s) if n.startswith("assay_gpu_owner_info")]) <= 512
            time.sleep(0.3)
        assert s.stop() == 0


@pytest.mark.parametrize("behaviour", ["closes", "noise", "endless", "silent", "half a frame", "pings"])
def test_how_it_speaks(program, tmp_path, behaviour):
    """No gRPC at all, or one that never ends."""
    over = threading.Event()

    def talk(c):
        with c:
            try:
                if behaviour == "noise":
                    c.sendall(os.urandom(100_000))
                while behaviour == "endless":
                    c.sendall(b"\x00" * 65536)
                if behaviour == "half a frame":
                    c.sendall(b"\x00\x00\x06\x04\x00\x00\x00\x00\x00" + b"\x00" * 6 + b"\xff\xff")
                while behaviour == "pings" and not over.is_set():
                    c.sendall((b"\x00\x00\x06\x04\x00\x00\x00\x00\x00" + b"\x00" * 6) + b"\x00\x00\x08\x06\x00\x00\x00\x00\x00" + b"x" * 8)
                if behaviour != "closes":
                    over.wait(20)
            except OSError:
                pass

    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "k.sock"))
        listening.listen(50)
        listening.settimeout(0.2)

        def accept():
            while not over.is_set():
                try:
                    c, _ = listening.accept()
                except OSError:
                    continue
                threading.Thread(target=talk, args=(c,), daemon=True).start()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            with serving(program, tmp_path) as s:
                s.ready()
                for _ in range(8):
                    begun = time.monotonic()
                    look(s)
                    assert time.monotonic() - begun < 1
                    time.sleep(0.3)
                with open(f"/proc/{s.process.pid}/status", encoding="ascii") as file:
                    assert int(re.search(r"VmHWM:\s+(\d+)", file.read()).group(1)) < 120_000
                begun = time.monotonic()
                assert s.stop() == 0 and time.monotonic() - begun < 8
        finally:
            over.set()
            thread.join()


@pytest.mark.parametrize("kind", ["fifo", "file", "folder", "link to nothing"])
def test_what_is_no_socket(program, tmp_path, kind):
    path = tmp_path / "k.sock"
    {"fifo": lambda: os.mkfifo(path), "file": lambda: path.write_text("x"), "folder": path.mkdir, "link to nothing": lambda: path.symlink_to("nowhere")}[kind]()
    with serving(program, tmp_path) as s:
        s.ready()
        time.sleep(1)
        assert owners(s) == [] or look(s)
        assert s.stop() == 0
