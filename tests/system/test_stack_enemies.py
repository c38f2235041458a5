"""Processes that lie to the reader of stacks: it does not crash, hang, spend without bounds, or show what they say unfiltered."""
import json
import pathlib
import re
import struct
import subprocess
import sys

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests" / "tools"))
import stack_image as image  # noqa: E402

PLAIN = [("train.py", "step", 10), ("train.py", "main", 2)]
CORPUS = dict(image.corpus())
HUGE = 2**63


def word(m, at, *values):
    m.data[at:at + 8 * len(values)] = struct.pack(f"<{len(values)}Q", *values)


def long_names():
    return image.process(13, [("\x1b]0;x\x07/" + "\x1b[31m" * 210_000 + ".py", "f\r\n\x1b[2J" * 1000, 3)])[0].done()


def endless_threads():
    """The reader stops at 4096."""
    return image.process(13, PLAIN, threads=60_000)[0].done()


def threads_in_a_ring():
    m, _ = image.process(13, PLAIN, threads=30)
    at = struct.unpack("<Q", m.data[-400 + 8:-400 + 16])[0]  # of the newest: the one before
    first = len(m.data) - 400
    while at:
        first, at = at - image.BASE, struct.unpack_from("<Q", m.data, at - image.BASE + 8)[0]
    word(m, first + 8, image.BASE + len(m.data) - 400)
    return m.done()


def ring_of_frames():
    m, frame = image.process(13, [("a.py", "f", i + 1) for i in range(5)])
    at = frame - image.BASE
    while (previous := struct.unpack_from("<Q", m.data, at + 8)[0]):
        at = previous - image.BASE
    word(m, at + 8, frame)
    return m.done()


def long_line_tables():
    """Each frame has code of its own, whose table is as long as one that is read; nothing can be kept of it."""
    return image.process(13, [("a.py", f"f{i}", i + 1) for i in range(250)], lines=b"\xf8\x01\xd8\x05" + b"\xd8\x00" * 100_000)[0].done()


def lengths(n):
    """Every length of an object says n."""
    m, _ = image.process(13, PLAIN)
    for match in re.finditer(rb"(?=\x01\x00{15})", bytes(m.data)):
        if match.start() % 16 == 0:
            word(m, match.start() + 16, n)
    return m.done()


def nowhere(to):
    """Pointers into the image lead elsewhere, but for those of the ELF file and of the runtime."""
    m, _ = image.process(13, PLAIN)
    end = image.BASE + len(m.data)
    for at in range(4096 + 9000, len(m.data) - 2000, 8):
        if image.BASE <= struct.unpack_from("<Q", m.data, at)[0] < end and at % 24 == 0:
            word(m, at, to)
    return m.done()


def header(at, fmt, value):
    raw = bytearray(CORPUS["plain_3_13"])
    struct.pack_into("<" + fmt, raw, at, value)
    return bytes(raw)


def dynamic(tag, value):
    raw = bytearray(CORPUS["plain_3_13"])
    at = struct.unpack_from("<Q", raw, 64 + 56 + 16)[0]
    while struct.unpack_from("<Q", raw, at)[0] != tag:
        at += 16
    struct.pack_into("<Q", raw, at + 8, value)
    return bytes(raw)


IMAGES = {
    **{name: (lambda name=name: CORPUS[name]) for name in ("loop_3_9", "loop_3_13", "bad_lines_3_13", "escapes_3_9", "deep_3_13", "cut_3_13", "long_name")},
    "long_names": long_names, "endless_threads": endless_threads, "threads_in_a_ring": threads_in_a_ring, "ring_of_frames": ring_of_frames,
    "long_line_tables": long_line_tables, "lengths_2_63": lambda: lengths(HUGE), "lengths_2_31": lambda: lengths(2**31 - 1), "lengths_all": lambda: lengths(2**64 - 1),
    "to_null": lambda: nowhere(8), "to_nothing": lambda: nowhere(0x7fff_ffff_f000), "to_kernel": lambda: nowhere(2**64 - 4096), "to_vsyscall": lambda: nowhere(HUGE),
    "headers_far": lambda: header(32, "Q", HUGE), "headers_many": lambda: header(56, "H", 64), "headers_wrong_size": lambda: header(54, "H", 0),
    "segment_everywhere": lambda: header(64 + 40, "Q", 2**64 - 1), "symbols_nowhere": lambda: dynamic(6, 0x7fff_ffff_0000), "strings_nowhere": lambda: dynamic(5, 2**63 + 5),
    "strings_long": lambda: dynamic(10, 2**64 - 1), "hash_in_symbols": lambda: dynamic(0x6ffffef5, image.BASE + 4096),
}


def attack(program, tmp_path, raw, mode, seconds):
    tools = pathlib.Path(program).parent / "tests"
    if not (tools / "stack_enemy").exists():
        pytest.skip("no stack_enemy in this build")
    path = tmp_path / "libpython3.13.so.1.0"
    path.write_bytes(raw)
    with subprocess.Popen([tools / "stack_enemy", path, mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as enemy:
        assert enemy.stdout.readline() == "ready\n"
        sampled = subprocess.run([tools / "stack_shares", str(seconds), "20", "0.005", str(enemy.pid)], capture_output=True, text=True, timeout=60, check=True)
        look = subprocess.run([program, "stacks", str(enemy.pid), "--all"], capture_output=True, timeout=60)
        enemy.stdin.close()
        assert enemy.wait(10) == 0, "the enemy itself was disturbed"
    assert look.returncode in (0, 1), look
    return json.loads(sampled.stdout), look.stdout


def check(seen, shown):
    assert seen["longest"] < 3 and seen["cpu"] < 0.5, seen
    assert len(shown) < 400_000
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]", shown), shown[:500]


@pytest.mark.parametrize("name", IMAGES)
def test_memory_that_lies(program, tmp_path, name):
    check(*attack(program, tmp_path, IMAGES[name](), "still", 0.5))


@pytest.mark.parametrize("mode", ["scramble", "unmap"])
@pytest.mark.parametrize("name", ["deep_3_9", "threads_3_9", "threads_3_13", "no_symbols"])
def test_memory_that_changes_while_it_is_read(program, tmp_path, name, mode):
    check(*attack(program, tmp_path, CORPUS[name], mode, 1))


def test_plain_memory_is_read(program, tmp_path):
    """Else the others would test nothing."""
    seen, shown = attack(program, tmp_path, CORPUS["plain_3_13"], "still", 1)
    assert seen["processes"][0]["access"] == "readable" and b"train.py:11 step" in shown
