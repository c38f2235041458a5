"""The prometheus source against real exporters and a server that misbehaves in every way we know."""
import contextlib
import csv
import gzip
import http.server
import io
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
import urllib.request

import pytest

from conftest import FIXTURES

DATA = FIXTURES / "exposition"
SCRAPE = (DATA / "dcgm-exporter.prom").read_text()
FEW = "--export", "timestamp,gpu_id,power_w,gpu_temp_c,energy_j,job"


class Exporter:
    """A server on loopback; `answer(handler)` is what it does with a request."""

    def __init__(self, answer, port=0, tls=None):
        outer = self
        self.requests = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                outer.requests.append((time.monotonic(), self.path, dict(self.headers)))
                with contextlib.suppress(ConnectionError):
                    answer(self)

            def log_message(self, *args):
                pass

        http.server.ThreadingHTTPServer.allow_reuse_address = True
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.server.block_on_close = False
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def url(self, scheme="http", user="", path="/metrics"):
        return f"{scheme}://{user}localhost:{self.port}{path}"

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def send(handler, text, status=200, headers=()):
    data = text if isinstance(text, bytes) else text.encode()
    handler.send_response(status)
    handler.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
    handler.send_header("Content-Length", str(len(data)))
    handler.send_header("Connection", "close")
    for name, value in headers:
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(data)
    handler.close_connection = True


def good(handler):
    send(handler, SCRAPE)


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


# Captures


def test_replays_a_saved_scrape(assay):
    done = assay("once", "--json", "--source", DATA / "dcgm-exporter.prom")
    frame = json.loads(done.stdout)
    text = json.dumps(frame)
    assert done.returncode == 0 and done.stderr == ""
    assert "4711" in text and "GPU-604ac76c-d9cf-fef3-62e9-d92044ab6e52" in text and "550.54.15" in text


def test_mig_slices_are_entities(assay):
    done = assay("export", "gpu_id,mem_used_mib,sm_active_pct", "--source", DATA / "mig.prom")
    assert [(r["gpu_id"], r["mem_used_mib"]) for r in rows(done.stdout)] == [
        ("0", ""), ("0/2", "20011.0000"), ("0/7", "4020.0000"), ("1", "6.0000")]


def test_scrapes_after_one_another(assay):
    done = assay(*FEW, "--source", DATA / "three-scrapes.txt")
    got = rows(done.stdout)
    assert [r["timestamp"] for r in got] == [f"{t}.00" for t in (1700000000, 1700000015, 1700000030) for _ in "01"]
    assert [r["job"] for r in got if r["gpu_id"] == "0"] == ["4711", "4712", "4712"]
    assert [r["energy_j"] for r in got if r["gpu_id"] == "0"] == ["100.0", "350.0", "400.0"]


def test_bad_lines_are_counted_and_cost_nothing_else(assay):
    done = assay(*FEW, "--source", DATA / "bad-lines.txt")
    assert [(r["gpu_id"], r["gpu_temp_c"]) for r in rows(done.stdout)] == [("0", "61.0000"), ("2", "48.0000")]
    assert "7 lines could not be understood, the first at line 3" in done.stderr
    assert "cut off" in done.stderr


@pytest.mark.parametrize("bad", [2, 3, 7])
def test_the_first_bad_line_of_an_exporter_is_named(assay, bad):
    good_lines = [f'DCGM_FI_DEV_GPU_TEMP{{gpu="{i}",UUID="GPU-{i}"}} {50 + i}' for i in range(6)]
    scrape = "\n".join([*good_lines[:bad - 1], "{nonsense", *good_lines[bad - 1:], ""])
    with Exporter(lambda h: send(h, scrape)) as e:
        done = assay(*FEW, "--count", "1", "--source", e.url())
    assert [r["gpu_temp_c"] for r in rows(done.stdout)] == [f"{50 + i}.0000" for i in range(6)]
    assert f"1 line could not be understood, the first at line {bad}" in done.stderr


@pytest.mark.parametrize("change", [
    pytest.param(lambda t: t.replace("\n", "\r\n"), id="crlf"),
    pytest.param(lambda t: t.rstrip("\n"), id="no end of line"),
    pytest.param(lambda t: "\n\n \t\n" + t, id="blank lines first"),
    pytest.param(lambda t: re.sub(r"(?m)^#.*\n", "", t), id="no comments"),
    pytest.param(lambda t: t.replace("} ", "}\t \t"), id="tabs"),
    pytest.param(lambda t: "\n".join(sorted(t.splitlines())) + "\n", id="another order"),
    pytest.param(lambda t: t + "# EOF\n", id="OpenMetrics"),
])
def test_the_same_text_written_otherwise(assay, tmp_path, change):
    other = tmp_path / "scrape"
    other.write_bytes(change(SCRAPE).encode())
    want = assay("export", "full", "--source", DATA / "dcgm-exporter.prom")
    got = assay("export", "full", "--source", other)
    assert got.stderr == "" and got.stdout == want.stdout and len(rows(got.stdout)) == 2


@pytest.mark.parametrize("name", sorted(p.name for p in DATA.glob("*.prom")))
def test_promtool_accepts_the_fixtures(name):
    if not shutil.which("promtool"):
        pytest.skip("promtool (package prometheus) is not installed")
    done = subprocess.run(["promtool", "check", "metrics"], input=(DATA / name).read_bytes(), capture_output=True,
                          check=False)
    assert done.returncode in (0, 3) and b"parsing" not in done.stderr  # 3: lint of names only


# Real exporters: their text, under names that are wanted and with a GPU, must be understood entirely.


def as_gpu_metrics(text):
    """Every sample renamed and given a GPU; labels, values and times stay as the exporter wrote them."""
    lines = []
    for i, line in enumerate(text.splitlines()):
        if line.startswith("#") or not line.strip():
            lines.append(line)
            continue
        name = re.match(r"[a-zA-Z_:][a-zA-Z0-9_:]*", line).group()
        rest = line[len(name):]
        labels = f'gpu="{i % 1000}",UUID="GPU-{i}"'
        rest = "{" + labels + "," + rest[1:] if rest.startswith("{") else "{" + labels + "}" + rest
        lines.append("DCGM_FI_DEV_XID_ERRORS" + rest)
    return "\n".join(lines) + "\n"


def start_and_scrape(args, port, cwd):
    child = subprocess.Popen(args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=cwd)
    try:
        for _ in range(200):
            try:
                return urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5).read().decode()
            except OSError:
                assert child.poll() is None, "the exporter ended"
                time.sleep(0.1)
        raise AssertionError("the exporter does not answer")
    finally:
        child.terminate()
        child.wait()


@pytest.fixture(params=["prometheus-node-exporter", "prometheus"])
def real_text(request, tmp_path):
    if not shutil.which(request.param):
        pytest.skip(f"package {request.param} is not installed")
    port = free_port()
    args = [request.param, f"--web.listen-address=127.0.0.1:{port}"]
    if request.param == "prometheus":
        (tmp_path / "p.yml").write_text("global: {}\n")
        args += [f"--config.file={tmp_path}/p.yml", f"--storage.tsdb.path={tmp_path}/data"]
    return start_and_scrape(args, port, tmp_path)


def test_real_exporters_are_understood(assay, tmp_path, real_text):
    samples = [l for l in real_text.splitlines() if l and not l.startswith("#")]
    assert len(samples) > 200
    (tmp_path / "t").write_text(as_gpu_metrics(real_text))
    done = assay("export", "gpu_id,uuid,xid", "--source", tmp_path / "t")
    assert done.stderr == "" and len(rows(done.stdout)) == len(samples)
    # The check can fail.
    (tmp_path / "t").write_text(as_gpu_metrics(real_text) + "DCGM_FI_DEV_XID_ERRORS{gpu=1} 1\n")
    assert "1 line could not be understood" in assay("export", "gpu_id", "--source", tmp_path / "t").stderr
    # As it is, it says nothing about GPUs, and says so.
    (tmp_path / "t").write_text(real_text)
    done = assay("once", "--backend", "prometheus", "--source", tmp_path / "t")
    assert done.returncode == 3 and "nothing about GPUs" in done.stderr


# The live source


def test_asks_an_exporter(assay):
    with Exporter(good) as e:
        done = assay("once", "--source", e.url(), "--json")
        frame = json.loads(done.stdout)
    assert done.returncode == 0 and done.stderr == ""
    assert f"prometheus http://localhost:{e.port}" in json.dumps(frame)
    assert abs(frame["time"] - time.time()) < 60 if "time" in frame else True


def test_gpus_that_change_with_every_scrape_are_capped_and_said(program, tmp_path):
    """While it runs: an export may never end. Rows and memory stop growing, and whoever was there first stays."""
    scrapes = []

    def change(handler):
        scrapes.append(1)
        new = "".join(f'DCGM_FI_DEV_GPU_UTIL{{gpu="{i}",UUID="GPU-{len(scrapes)}-{i}"}} 50\n' for i in range(1, 9000))
        send(handler, 'DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-first"} 50\n' + new)

    with Exporter(change) as e, open(tmp_path / "out", "wb") as out, subprocess.Popen(
            [program, "export", "gpu_id,uuid", "--source", e.url(), "--interval", "1", "--count", "6"], stdout=out, stderr=subprocess.PIPE) as p:
        said, running = p.stderr.readline(), p.poll() is None
        assert said == b"assay: the source named more than 16384 GPUs; later ones are left out\n" and running
        memory = [int(pathlib.Path(f"/proc/{p.pid}/statm").read_text().split()[1])]
        time.sleep(2)
        memory.append(int(pathlib.Path(f"/proc/{p.pid}/statm").read_text().split()[1]))
        rest = p.stderr.read()
        assert p.wait() == 0 and rest == b"" and memory[1] < memory[0] * 1.3, (rest, memory)
    listed = [line.split(",")[1] for line in (tmp_path / "out").read_text().splitlines()[1:]]
    assert len(set(listed)) == 16384 and listed.count("GPU-first") == 6


def test_no_proxy_for_this_machine(assay):
    with Exporter(good) as e:
        proxy = {"http_proxy": f"http://127.0.0.1:{free_port()}"}
        assert assay("once", "--source", e.url(), env=proxy).returncode == 0


def test_compressed_answers(assay):
    def answer(handler):
        assert "gzip" in handler.headers["Accept-Encoding"]
        send(handler, gzip.compress(SCRAPE.encode()), headers=[("Content-Encoding", "gzip")])

    with Exporter(answer) as e:
        assert "612" in assay("once", "--source", e.url()).stdout


def test_the_usual_path_is_added(assay):
    with Exporter(good) as e:
        assert assay("once", "--source", e.url(path="")).returncode == 0
    assert [r[1] for r in e.requests] == ["/metrics"]


def test_reads_a_file_again_each_poll(program, tmp_path):
    path = tmp_path / "gpus.prom"
    path.write_text(SCRAPE)
    with running(program, "export", "power_w", "--backend", "prometheus", "--source", path, "--gpus", "0") as child:
        assert child.stdout.readline() == "power_w\n" and child.stdout.readline() == "612.4020\n"
        (tmp_path / "new").write_text(SCRAPE.replace("612.402000", "99.5"))
        (tmp_path / "new").rename(path)
        assert child.stdout.readline() == "99.5000\n"


def test_user_and_password_are_sent_and_not_shown(assay):
    with Exporter(good) as e:
        done = assay("once", "--json", "--source", e.url(user="me:secret@"))
    assert e.requests[0][2]["Authorization"] == "Basic bWU6c2VjcmV0"
    assert done.returncode == 0 and "secret" not in done.stdout
    done = assay("once", "--source", f"http://me:secret@localhost:{free_port()}/metrics?key=secret")
    assert done.returncode == 3 and "secret" not in done.stderr


def test_bearer_token(assay, tmp_path):
    def answer(handler):
        send(handler, SCRAPE) if handler.headers.get("Authorization") == "Bearer abc.def" else send(handler, "no", 401)

    token = tmp_path / "token"
    with Exporter(answer) as e:
        done = assay("once", "--source", e.url())
        assert done.returncode == 3 and "401" in done.stderr and "--token-file" in done.stderr
        token.write_text("abc.def\n")
        assert assay("once", "--source", e.url(), "--token-file", token).returncode == 0
        for text, word in (("", "empty"), ("two words", "more than one word"), ("a\r\nX-Evil: 1", "more than one word")):
            token.write_text(text)
            done = assay("once", "--source", e.url(), "--token-file", token)
            assert done.returncode == 3 and word in done.stderr
        done = assay("once", "--source", e.url(), "--token-file", tmp_path / "none")
        assert done.returncode == 3 and "No such file" in done.stderr


def hang(handler):
    time.sleep(20)


def half(handler):
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(SCRAPE)))
    handler.end_headers()
    handler.wfile.write(SCRAPE[:1000].encode())
    handler.close_connection = True


def drip(handler):
    """Never silent, never done."""
    handler.send_response(200)
    handler.end_headers()
    for _ in range(200):
        handler.wfile.write(b"# still here\n")
        time.sleep(0.1)


def huge(handler):
    handler.send_response(200)
    handler.end_headers()
    for _ in range(80):
        handler.wfile.write(b"# " + b"x" * (1 << 20) + b"\n")


def huge_by_header(handler):
    handler.send_response(200)
    handler.send_header("Content-Length", str(1 << 40))
    handler.end_headers()


BOMB = gzip.compress(bytes(66 << 20), 1)


def bomb(handler):
    send(handler, BOMB, headers=[("Content-Encoding", "gzip")])


def noise(handler):
    send(handler, bytes(range(256)) * 64)


MISBEHAVIOUR = [
    pytest.param(lambda h: send(h, "no", 404), "answers 404", "/metrics", id="404"),
    pytest.param(lambda h: send(h, "no", 403), "answers 403", "--token-file", id="403"),
    pytest.param(lambda h: send(h, "no", 500), "answers 500", "log", id="500"),
    pytest.param(lambda h: send(h, "", 302, [("Location", "http://u:pw@elsewhere/x?k=pw")]), "answers 302",
                 "points to http://elsewhere/x:", id="redirect"),
    pytest.param(hang, "no answer within 1 s", "--poll", id="hangs"),
    pytest.param(drip, "no answer within 1 s", "--poll", id="drips"),
    pytest.param(half, "bytes remaining", "log", id="closes half-way"),
    pytest.param(lambda h: h.connection.shutdown(socket.SHUT_RDWR), "cannot read", "log", id="closes at once"),
    pytest.param(huge, "larger than 64 MiB", "exporter?", id="huge body"),
    pytest.param(huge_by_header, "larger than 64 MiB", "exporter?", id="huge by header"),
    pytest.param(bomb, "larger than 64 MiB", "exporter?", id="huge when unpacked"),
    pytest.param(noise, "not exposition text", "/metrics", id="noise"),
    pytest.param(lambda h: send(h, "<html><body>hi</body></html>"), 'starts with "<html>', "/metrics", id="web page"),
    pytest.param(lambda h: send(h, ""), "nothing to say yet", "/metrics", id="empty"),
    pytest.param(lambda h: send(h, "up 1\n"), "nothing about GPUs", "dcgm-exporter", id="no GPU"),
]


@pytest.mark.parametrize("answer,says,remedy", MISBEHAVIOUR)
def test_a_bad_start_is_an_error_with_a_remedy(assay, answer, says, remedy):
    with Exporter(answer) as e:
        begun = time.monotonic()
        done = assay("once", "--source", e.url(), "--poll", "1" if answer in (hang, drip) else "5")
        took = time.monotonic() - begun
    assert done.returncode == 3 and done.stdout == ""
    assert says in done.stderr and remedy in done.stderr and "pw" not in done.stderr
    assert took < 4 and len(e.requests) == 1


@pytest.mark.parametrize("source,says,remedy", [
    pytest.param("http://localhost:{port}/metrics", "", "is dcgm-exporter running?", id="refused"),
    pytest.param("http://no-such-host.invalid/metrics", "resolve", "name", id="no such host"),
    pytest.param("/no/such/file", "No such file", "http://", id="no such file"),
    pytest.param("localhost:{port}", "cannot read 'http://localhost:", "is dcgm-exporter running?", id="address without http"),
    pytest.param("{folder}", "not a regular file", "replay", id="directory"),
])
def test_nothing_there(assay, tmp_path, source, says, remedy):
    done = assay("once", "--backend", "prometheus", "--source", source.format(port=free_port(), folder=tmp_path))
    assert done.returncode == 3 and says in done.stderr and remedy in done.stderr


def test_usage(assay):
    done = assay("once", "--backend", "prometheus", "--source", "ftp://x/y")
    assert done.returncode == 2 and "http" in done.stderr
    done = assay("once", "--source", "http://localhost:1/metrics", "--poll", "0.5")
    assert done.returncode == 2 and "too short for prometheus" in done.stderr


def test_tls_is_verified(assay, tmp_path):
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed")
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", key, "-out", cert, "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost"], check=True, capture_output=True)
    with Exporter(good, tls=(cert, key)) as e:
        done = assay("once", "--source", e.url("https"))
        assert done.returncode == 3 and "not trusted" in done.stderr and "SSL_CERT_FILE" in done.stderr
        assert assay("once", "--source", e.url("https"), env={"SSL_CERT_FILE": str(cert)}).returncode == 0
        wrong_name = e.url("https").replace("localhost", "127.0.0.1")
        assert assay("once", "--source", wrong_name, env={"SSL_CERT_FILE": str(cert)}).returncode == 3


def test_a_capture_does_not_load_libcurl(program):
    """A file is read within milliseconds, because the thirty libraries behind curl stay on disk."""
    done = subprocess.run([program, "once", "--source", DATA / "dcgm-exporter.prom"], env={"LD_DEBUG": "libs"},
                          capture_output=True, text=True, check=True)
    assert "libc.so" in done.stderr and "libcurl" not in done.stderr


def test_without_libcurl(assay, tmp_path):
    """The loader stops at files that are no libraries, as if none were installed."""
    for name in ("libcurl.so.4", "libcurl-gnutls.so.4"):
        (tmp_path / name).write_bytes(b"")
    done = assay("once", "--source", "http://localhost:1", env={"LD_LIBRARY_PATH": str(tmp_path)})
    assert done.returncode == 3 and "install libcurl4" in done.stderr
    done = assay("once", "--backend", "prometheus", "--source", DATA / "mig.prom", env={"LD_LIBRARY_PATH": str(tmp_path)})
    assert done.returncode == 0 and done.stderr == ""


# Over time


@contextlib.contextmanager
def running(program, *args):
    # What sanitizers do at the end takes longer than a stopped program is given.
    env = {"PATH": os.environ["PATH"], "TZ": "UTC", "LANG": "C.UTF-8", "ASAN_OPTIONS": "detect_leaks=0",
           "TSAN_OPTIONS": "atexit_sleep_ms=0"}
    child = subprocess.Popen([program, *map(str, args)], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True)
    try:
        yield child
    finally:
        if child.poll() is None:
            child.kill()
        child.wait()
        child.stdout.close()
        child.stderr.close()


def next_json(child):
    return json.loads(child.stdout.readline())


@pytest.mark.parametrize("answer", [pytest.param(hang, id="while it waits for an answer"),
                                    pytest.param(good, id="while it waits for the beat")])
def test_a_signal_ends_it_at_once(program, answer):
    first = threading.Event()

    def later(handler):
        if first.is_set():
            answer(handler)
        else:
            first.set()
            good(handler)

    with Exporter(later) as e, running(program, "export", "gpu_id", "--source", e.url(), "--poll", "2") as child:
        assert child.stdout.readline() == "gpu_id\n" and child.stdout.readline() == "0\n"
        if answer is hang:
            deadline = time.monotonic() + 10
            while len(e.requests) < 2 and time.monotonic() < deadline:
                time.sleep(0.02)
        time.sleep(0.2)
        begun = time.monotonic()
        child.send_signal(signal.SIGTERM)
        assert child.wait(5) == 0 and time.monotonic() - begun < 0.4


@pytest.mark.slow
def test_a_dead_exporter_makes_values_stale_and_comes_back(program):
    """Values age, retries back off, and the program recovers by itself."""
    e = Exporter(good)
    port = e.port
    with running(program, "export", "--format", "jsonl", "--source", e.url(), "--poll", "1", "--gpus", "0") as child:
        fresh = next_json(child)
        e.stop()
        stale = [next_json(child) for _ in range(4)]
        changed = SCRAPE.replace("612.402000", "99.5")
        e = Exporter(lambda h: send(h, changed), port=port)
        try:
            later = [next_json(child) for _ in range(5)]
        finally:
            e.stop()
        child.send_signal(signal.SIGINT)
        assert child.wait(5) == 0
        trouble = child.stderr.read()
    assert fresh["metrics"]["power"] == 612.402 and not fresh["stale"]
    assert all(s["stale"] and s["metrics"]["power"] == 612.402 for s in stale)
    ages = [s["age"]["power"] for s in stale]
    assert "power" not in fresh["age"] and ages == sorted(ages) and 0.9 < ages[0] < 2.5 and ages[-1] > 3.5
    assert all(s["identity"]["job"] == "4711" for s in stale)
    recovered = [s for s in later if not s["stale"]]
    assert recovered and all(s["metrics"]["power"] == 99.5 for s in recovered)
    assert "scrapes failed" in trouble


@pytest.mark.slow
def test_the_same_scrape_again_is_no_new_sample(program):
    """The exporter is alive and collects more slowly than it is asked: values keep their age."""
    calls = []
    changed = re.sub(r'(PCIE_REPLAY_COUNTER{gpu="0".*) 0', r"\1 30", SCRAPE.replace("612.402000", "99.5"))

    def answer(handler):
        calls.append(1)
        send(handler, SCRAPE if len(calls) < 4 else changed)

    with Exporter(answer) as e, running(program, "export", "--format", "jsonl", "--source", e.url(), "--count", "5",
                                        "--gpus", "0") as child:
        got = [json.loads(line) for line in child.communicate(timeout=30)[0].splitlines()]
    ages = [g["age"].get("power", 0) for g in got]
    assert [g["metrics"]["power"] for g in got] == [612.402] * 3 + [99.5] * 2
    assert not any(g["stale"] for g in got) and not any(g["missing"] for g in got)
    assert [round(a) for a in ages] == [0, 1, 2, 0, 1]
    # Between two equal scrapes there is no rate; across them it counts from the last new sample.
    rates = [g["metrics"]["pcie_replay_rate"] for g in got]
    assert rates[:3] == [None] * 3 and 9 < rates[3] < 11 and rates[4] is None


@pytest.mark.slow
def test_retries_back_off(program):
    calls = []

    def answer(handler):
        calls.append(time.monotonic())
        good(handler) if len(calls) == 1 else send(handler, "busy", 503)

    with Exporter(answer) as e, running(program, "export", "--format", "jsonl", "--source", e.url(), "--count", "9",
                                        "--gpus", "0") as child:
        out, err = child.communicate(timeout=30)
    gaps = [round(b - a) for a, b in zip(calls, calls[1:])]
    assert gaps == [1, 1, 2, 4]  # the beat, then 1, 2 and 4 seconds
    assert out.count("\n") == 9 and "4 of 5 scrapes failed" in err and "503" in err
