"""NCCL's service for reliability: what it says stands on the page of assay why, and nothing it does hangs or harms."""
import concurrent.futures
import os
import subprocess
import sys
import time

import pytest

import ras
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests" / "hangs"))
import jobs  # noqa: E402


@pytest.fixture(scope="module")
def waiting():
    """A job all of whose ranks wait in one place: only NCCL knows for whom."""
    with jobs.job("together", 4, "all") as (launcher, pids):
        yield launcher, pids


def ask(program, waiting, talk, env=None):
    server = ras.Server(talk) if talk else None
    try:
        return jobs.ask(program, waiting[0], "--watch", 0.5, env={**os.environ, "NCCL_RAS_ADDR": server.address if server else "127.0.0.1:1", **(env or {})})
    finally:
        if server:
            server.close()


CASES = [("behind", "order", "NCCL: it began 41 of 42 collectives"), ("missing", "rank_dead", "NCCL: missing"), ("dead", "rank_dead", "NCCL: dead"),
         ("error", "async_error", "NCCL: error")]


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("trouble, cause, words", CASES)
def test_the_rank_that_nccl_names(program, waiting, form, trouble, cause, words):
    pids = dict(enumerate(waiting[1]))
    answers = {"text": ras.text(**{trouble: [(2, pids[2])]}), "json": ras.structured(pids, **{trouble: [2]})}
    status, answer = ask(program, waiting, ras.speaks(answers, form == "json"))
    first = answer["causes"][0]
    words = words.replace("41 of 42", "42 of 43") if form == "json" else words
    assert (status, first["cause"], first["rank"], first["pid"]) == (1, cause, 2, pids[2]) and first["detail"].startswith(words), answer["causes"]
    assert first["line"] in jobs.lines_of("together")


def test_nobody_listens(program, waiting):
    status, answer = ask(program, waiting, None)
    assert status == 3 and [c["cause"] for c in answer["causes"]] == ["together"] and "notes" not in answer


def test_an_address_that_is_none(program, waiting):
    done = subprocess.run([program, "why", str(waiting[0]), "--watch", "0.1"], capture_output=True, text=True, check=False, timeout=60, env={**os.environ, "NCCL_RAS_ADDR": "nowhere"})
    assert done.returncode == 2 and "NCCL_RAS_ADDR: 'nowhere' is no address" in done.stderr


def says(*parts, pause=0.0, close=True):
    """Sends this whatever it is asked."""

    def talk(conn):
        for part in parts:
            conn.sendall(part)
            time.sleep(pause)
        if not close:
            conn.recv(1 << 20)
            time.sleep(20)

    return talk


def endless(conn):
    while True:
        conn.sendall(b"x" * 65536)


def endless_line(conn):
    for _ in range(1000):
        conn.sendall(b"SERVER PROTOCOL " + b"9" * 4096)


HELLO = b"SERVER PROTOCOL 2\nOK\n"
HEAD = ras.HEAD.encode()


def answers(as_json, body):
    return says(HELLO + (b"OK\n" if as_json else b"ERROR: no\n") + body)


BROKEN = {
    "closes at once": says(),
    "says nothing": says(close=False),
    "is another server": says(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
    "an SSH server": says(b"SSH-2.0-OpenSSH_9.2\n"),
    "half a greeting": says(b"SERVER PRO"),
    "half a greeting, and waits": says(b"SERVER PRO", close=False),
    "a byte a second": says(*[b"S"] * 30, pause=1),
    "a greeting without end": endless_line,
    "bytes without end": endless,
    "closes after the greeting": says(b"SERVER PROTOCOL 2\n"),
    "never answers the timeout": says(b"SERVER PROTOCOL 2\n", close=False),
    "never answers the format": says(HELLO, close=False),
    "an empty answer": answers(True, b""),
    "an empty text": answers(False, b""),
    "JSON that is cut": answers(True, b'{"nccl_version": "2.28.7", "communicators": ['),
    "JSON that is a list": answers(True, b"[]"),
    "JSON that is a number": answers(True, b"1e999"),
    "JSON that is deep": answers(True, b"[" * 100000),
    "communicators that are none": answers(True, b'{"communicators": 5}'),
    "text for JSON": answers(True, ras.text().encode()),
    "JSON for text": answers(False, b'{"communicators": []}'),
    "random bytes for JSON": answers(True, os.urandom(100000)),
    "random bytes for text": answers(False, os.urandom(100000)),
    "NUL bytes": answers(False, b"\0" * 100000),
    "JSON that never ends": says(HELLO + b"OK\n", b'{"a": "' + b"x" * 100000, close=False),
    "text that never ends": says(HELLO + b"ERROR\n" + HEAD, close=False),
    "JSON of millions of objects": ras.speaks({"json": '{"nccl_version": "2.28.7", "communicators": [' + "{}," * 1500000 + "{}]}"}, True),
    "one line of a megabyte": answers(False, b"Rank " * 200000),
}
HARMLESS = {
    "another protocol": ras.speaks({"text": ras.text(), "json": "{}"}, False, protocol=99),
    "ranks of no process": answers(False, HEAD + b"#0-0 (zz) MISMATCH\n  Rank 99999999999999999999 has launched up to operation -5\n  Rank -1 has not launched any operations\n"),
    "ranks that are odd": answers(True, b'{"nccl_version": "\\u001b[2J", "communicators": [{"ranks": [{"rank": -1, "pid": 1e300, "collective_counts": {"a": -1}}, {"rank": "x"}, 7, null], "missing_ranks": {}}]}'),
}


def find_fault(program, waiting, how):
    """What is wrong with what is said of a service that is broken; None for nothing."""
    begin = time.monotonic()
    status, answer = ask(program, waiting, BROKEN[how])
    notes = answer.get("notes", [])
    right = (time.monotonic() - begin < 20 and status == 3 and [c["cause"] for c in answer["causes"]] == ["together"] and len(notes) == 1
             and notes[0].startswith("NCCL was not heard: ") and len(notes[0]) < 90 and notes[0].isprintable())
    return None if right else (how, status, answer["causes"], notes)


@pytest.mark.parametrize("some", [pytest.param(["is another server", "JSON that is cut", "random bytes for text", "closes after the greeting"], id="a few"),
                                  pytest.param(sorted(BROKEN), id="all", marks=pytest.mark.slow)])
def test_broken_services(program, waiting, some):
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        assert [f for f in pool.map(lambda how: find_fault(program, waiting, how), some) if f] == []


@pytest.mark.parametrize("how", sorted(HARMLESS))
def test_odd_answers(program, waiting, how):
    status, answer = ask(program, waiting, HARMLESS[how])
    assert status in (1, 3) and all(c["text"].isprintable() for c in answer["causes"]) and answer["notes"][0].startswith("NCCL ")


@pytest.mark.parametrize("form", ["text", "json"])
def test_counts_beyond_all_numbers(program, waiting, form):
    pids = dict(enumerate(waiting[1]))
    answers = {"text": ras.text(behind=[(2, pids[2])], most=4 * 10**15), "json": ras.structured(pids, behind=[2]).replace("42", "1e308")}
    status, answer = ask(program, waiting, ras.speaks(answers, form == "json"))
    assert status == 3 and [c["cause"] for c in answer["causes"]] == ["together"] and answer["notes"][0].startswith("NCCL "), answer


def test_thirty_ways():
    assert len(BROKEN) + len(HARMLESS) == 31
