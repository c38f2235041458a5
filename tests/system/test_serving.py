"""Model servers beside the GPUs: a playing one with its GPU, and the metrics of each engine as they are written."""
import concurrent.futures
import http.server
import json
import pathlib
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.request

import pytest

from conftest import FIXTURES, ROOT
from serving import Server as Serve, total
from test_serve_nvml import LIBRARY, calls as count_calls
from test_top import Terminal

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "serving"))
import blind  # noqa: E402
from model import Load  # noqa: E402
from play import PID, Player  # noqa: E402
from scenarios import SCENARIOS, judge, judge_all  # noqa: E402


@pytest.fixture
def play(tmp_path):
    """Starts a playing server; all end with the test."""
    players = []

    def start(**load):
        players.append(Player(Load(**load), tmp_path / f"root{len(players)}"))
        return players[-1].__enter__()

    yield start
    for p in players:
        p.__exit__()


@pytest.fixture
def serve_text():
    """An address that answers with a text, or with a status where there is none."""
    servers = []

    def start(text, status=200):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(status)
                self.end_headers()
                now = text() if callable(text) else text
                self.wfile.write(now if isinstance(now, bytes) else now.encode())

            def log_message(self, *args):
                pass

        servers.append(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{servers[-1].server_address[1]}/metrics"

    yield start
    for s in servers:
        s.shutdown()
        s.server_close()


def engines(done):
    assert done.returncode in (0, 3), done.stderr
    return json.loads(done.stdout)["engines"]


def test_once_joins_server_and_gpu(assay, play):
    p = play()
    done = assay("once", "--json", *p.options())
    e, = engines(done)
    assert (e["engine"], e["model"], e["answers"], e["pid"]) == ("vllm", "toy/8B", True, PID)
    m, hw = e["metrics"], e["hardware"]
    assert 500 < m["output_tokens"] < 2500 and 0.004 < m["inter_token_latency"] < 0.02
    assert m["batch"] == pytest.approx(m["output_tokens"] * m["inter_token_latency"])
    assert e["limit"]["limiter"] == "batch.small" and e["limit"]["basis"] == "counters"
    assert "send more requests" in e["limit"]["try"]
    assert hw["gpus"] == 1 and hw["tokens_per_joule"] == pytest.approx(m["output_tokens"] / hw["power"], rel=0.5)
    assert hw["headroom_tokens"] > 0 and e["limit"]["full_next"] == "tensor"


def test_once_says_it_in_words(assay, play):
    p = play()
    done = assay("once", "--width", "200", *p.options())
    assert done.returncode == 0, done.stderr
    text = done.stdout[done.stdout.index("vLLM at 127.0.0.1"):]
    for words in ("(toy/8B)", " running, ", " tokens/s", "first token ", " a token (p95 ", "limited by a small batch", "at most ",
                  " tokens/J", " tokens a GPU-hour"):
        assert words in text, words


@pytest.mark.parametrize("name", sorted(p.stem for p in (FIXTURES / "engines").glob("*.prom")))
def test_each_engine_answers(assay, serve_text, name):
    url = serve_text((FIXTURES / "engines" / f"{name}.prom").read_text())
    e, = engines(assay("once", "--json", "--engine", url))
    assert e["engine"] == name.removesuffix("-v0") and e["answers"]
    assert e["metrics"]["requests_running"] >= 2 and e["metrics"]["output_tokens"] == 0  # nothing was generated meanwhile


def test_once_without_a_gpu_shows_the_server(assay, serve_text):
    done = assay("once", "--width", "120", "--engine", serve_text((FIXTURES / "engines" / "vllm.prom").read_text()) + ",http://127.0.0.1:1")
    assert "31 running, 4 waiting, cache 81 %" in done.stdout and "(Qwen/Qwen3-8B)\n" in done.stdout, done.stdout
    assert "model server at 127.0.0.1:1\n  it does not answer: " in done.stdout


@pytest.mark.parametrize("text,status,why", [
    ("nothing of the kind 1\n", 200, "no metrics of a model server"),
    ("", 503, "the server answers 503"),
    (b"\xff\x00vllm:num_requests_running{\n" * 1000, 200, "no metrics of a model server"),
], ids=["other", "status", "bytes"])
def test_what_is_no_engine_is_said_so(assay, serve_text, text, status, why):
    e, = engines(assay("once", "--json", "--engine", serve_text(text, status)))
    assert not e["answers"] and why in e["why"]
    assert all(v is None for v in e["metrics"].values())


def test_addresses_are_checked(assay):
    for words, why in (("ftp://x", "only http and https"), ("localhost", "'localhost' is no address"), ("http://a:1,b", "'b' is no address"),
                       ("http://", "names no host")):
        done = assay("once", "--engine", words)
        assert done.returncode == 2, words
        assert done.stderr.startswith("assay: --engine: ") and why in done.stderr and "--source" not in done.stderr, done.stderr


def test_none_asks_nothing(assay):
    done = assay("once", "--json", "--engine", "none")
    assert "engines" not in json.loads(done.stdout)


def test_a_recording_keeps_the_server(assay, play, tmp_path):
    p, file = play(), str(tmp_path / "x.assay")
    done = assay("record", "-o", file, "--duration", "4", "--source", p.gpu, "--engine", p.engine)
    assert done.returncode == 0, done.stderr
    rows = sqlite3.connect(file).execute("select engine, url, model, absent, requests_running, output_tokens, inter_token_latency from engines").fetchall()
    assert len(rows) >= 3 and {r[:1] + r[2:4] for r in rows} == {("vllm", "toy/8B", None)}
    assert any(r[5] and 300 < r[5] < 3000 and 0.004 < r[6] < 0.02 for r in rows)
    e, = engines(assay("once", "--json", "--at", "3", file))
    assert e["limit"]["limiter"] == "batch.small" and e["metrics"]["output_tokens"] > 300
    report = json.loads(assay("report", "--format", "json", file).stdout)["engines"][0]
    assert report["limiter_seconds"]["batch.small"] > 1
    assert report["tokens"] == pytest.approx(report["metrics"]["output_tokens"] * report["seconds"], rel=0.5)
    text = assay("report", file).stdout
    assert "model servers\n  vLLM at 127.0.0.1:" in text and "limited by a small batch" in text and "tokens generated" in text
    assert "Model servers" in assay("report", "--format", "html", file).stdout
    assert "limited by a small batch" in assay("report", "--format", "markdown", file).stdout


def test_a_server_that_starts_later_and_ends(assay, tmp_path, serve_text):
    """Its absence is kept, with the reason, and is no figure."""
    text = (FIXTURES / "engines" / "vllm.prom").read_text()
    url = serve_text(text)
    file = str(tmp_path / "x.assay")
    closed = "http://127.0.0.1:1/metrics"
    done = assay("record", "-o", file, "--duration", "2", "--engine", f"{url},{closed}")
    assert done.returncode == 0, done.stderr
    rows = sqlite3.connect(file).execute("select url, absent, requests_running from engines").fetchall()
    kinds = dict(sqlite3.connect(file).execute("select url, engine from engines"))
    assert set(kinds.values()) == {"vllm", "unknown"} and kinds["127.0.0.1:1/metrics"] == "unknown"
    assert {bool(r[1]) for r in rows if ":1/" in r[0]} == {True} and all(r[2] is None for r in rows if ":1/" in r[0])
    assert any(r[2] == 31 for r in rows if ":1/" not in r[0])


def test_serve_exposes_the_server(program, play, tmp_path):
    p = play()
    with Serve(program, tmp_path, "--source", p.gpu, "--engine", p.engine, "--state", "none") as s:
        text = s.wait(lambda: (t := s.ask()[2]) and "assay_engine_batch{" in t and t)
    label = f'{{engine="vllm",url="{p.engine[7:]}",model="toy/8B"}}'
    assert f"assay_engine_up{label} 1" in text
    for family in ("assay_engine_requests_running", "assay_engine_output_tokens_total", "assay_engine_cache_used_ratio",
                   "assay_engine_inter_token_latency_seconds", "assay_engine_tokens_per_joule", "assay_engine_headroom_tokens"):
        assert f"{family}{label} " in text, family
    assert 'limiter="batch.small"} 1' in text


QUICK = [SCENARIOS[i] for i in (0, 6, 12, 24, 27)] + [blind.SCENARIOS[i] for i in (16, 19, 24, 28)]


def judge_twice(program, scenarios, at_a_time):
    """A player on a busy machine answers late, and then nothing is known: once more, alone."""
    got = [verdict for verdict, _ in judge_all(program, scenarios, at_a_time)]
    return [judge(program, load)[0] if verdict == "unknown" else verdict for verdict, (_, _, load) in zip(got, scenarios)]


def test_some_limits(program):
    """Of one nobody knows what limits it: its queue may wait for memory of which the engine says nothing."""
    got = judge_twice(program, QUICK, 2)
    assert got == [want if words != "TGI, which says nothing of its cache" else "unknown" for want, words, _ in QUICK]


@pytest.mark.long
@pytest.mark.parametrize("scenarios", [SCENARIOS, blind.SCENARIOS, blind.LAST], ids=["first", "blind", "last"])
def test_thirty_limits(program, scenarios):
    """At least nine of ten are right, and none is misleading."""
    got = judge_twice(program, scenarios, 3)
    wrong = [(words, verdict) for (want, words, _), verdict in zip(scenarios, got) if verdict != want]
    assert len(wrong) <= len(scenarios) / 10 and {verdict for _, verdict in wrong} <= {"unknown"}, wrong


def test_top_shows_the_server_above_the_processes(program, play, tmp_path):
    p = play()
    t = Terminal(program, tmp_path, width=140, height=30)
    try:
        t.start(f"--view job --source {p.gpu} --engine {p.engine}", show="vLLM at 127.0.0.1")
        screen = t.wait("limited by a small batch", timeout=15) or t.screen()
        for words in ("(toy/8B)", " running, ", " tokens/s", " a token (p95 ", "try: send more requests"):
            assert words in t.screen(), screen
    finally:
        t.close()


def test_top_of_many_servers(program, serve_text, play, tmp_path):
    """A line each where they do not fit otherwise, and how many more there are."""
    p, text = play(), (FIXTURES / "engines" / "tgi.prom").read_text()
    urls = [serve_text(text) for _ in range(9)] + ["http://127.0.0.1:1/metrics"]
    t = Terminal(program, tmp_path, width=80, height=24)
    try:
        t.start(f"--view job --source {p.gpu} --engine {','.join(urls)}", show="Text Generation Inference at")
        t.wait("model server at 127.0.0.1:1: it does not answer", timeout=20)
        assert all(url[7:].removesuffix("/metrics") in t.screen() for url in urls)
        t.resize(80, 16)
        t.wait(re.compile(r"\d more model servers: 'assay once' lists all"), timeout=20)
    finally:
        t.close()


def test_the_page_and_its_interface_have_the_server(program, play, tmp_path):
    p = play()
    with Serve(program, tmp_path, "--source", p.gpu, "--engine", p.engine, "--state", "none") as s:
        e, = s.wait(lambda: (list_ := json.loads(s.ask("/api/v1/now")[2]).get("engines")) and list_[0]["metrics"]["batch"] and list_)
    assert e["limit"]["limiter"] == "batch.small" and e["hardware"]["gpus"] == 1


# --- the line of a front end -----------------------------------------------------------------------

FRONT = """
import http.server, os, sys, threading
text = open(sys.argv[1], "rb").read()

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *args):
        pass

def split_words(words):
    return sum(hash(w) for w in words.split() * 50)

try:
    os.nice(-15)  # it keeps its core where others want it, too
except OSError:
    pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
while True:
    split_words("what a slow tokenizer " * 9)
"""


@pytest.fixture
def front(tmp_path):
    """A process that answers as vLLM does, whose main thread never rests; its address and its pid."""
    (tmp_path / "front.py").write_text(FRONT)
    p = subprocess.Popen([sys.executable, str(tmp_path / "front.py"), str(FIXTURES / "engines" / "vllm.prom")], stdout=subprocess.PIPE, text=True)
    yield f"http://127.0.0.1:{int(p.stdout.readline())}/metrics", p.pid
    p.kill()
    p.wait()


@pytest.mark.slow
def test_a_host_that_limits_is_told_by_its_line(assay, program, play, front, tmp_path):
    """The GPU rests, and the front end does not: report and top say in which line it is."""
    url, pid = front
    idle = play(arrivals=0.5, prompt=50, output=20)
    said = f"its process {pid}: "
    for attempt in range(3):  # on a busy machine it may not get its core
        file = str(tmp_path / f"{attempt}.assay")
        assert assay("record", "-q", "-o", file, "--duration", "8", "--source", idle.gpu, "--engine", url).returncode == 0
        done = json.loads(assay("report", "--format", "json", file).stdout)["engines"][0]
        if done["front_end"]:
            break
    assert done["limit"]["limiter"] == "host" and done["front_end"].startswith(said), done
    assert re.search(r"% of its CPU time in front.py:\d+ split_words", done["front_end"]), done
    text = " ".join(assay("report", file).stdout.split())
    assert said in text and "split_words" in text
    assert "split_words" in assay("report", "--format", "html", file).stdout
    t = Terminal(program, tmp_path, width=160, height=40)
    try:
        t.start(f"--view job --source {idle.gpu} --engine {url}", show="vLLM at 127.0.0.1")
        t.wait("split_words", timeout=30)
        assert said in t.screen()
    finally:
        t.close()


# --- beside the driver ----------------------------------------------------------------------------

@pytest.fixture
def nvml(tmp_path):
    """The environment of a fake H200, and the file in which its calls are counted."""
    (tmp_path / "scenario").write_text((FIXTURES / "nvml" / "h200-bf16.scn").read_text())
    return {"FAKE_NVML": str(tmp_path / "scenario"), "ASSAY_NVML_LIB": str(LIBRARY), "FAKE_NVML_CALLS": str(tmp_path / "calls")}


def test_serve_slows_down_beside_a_server(program, play, nvml, tmp_path):
    """Ten times a second until it is seen; as the user says where he does."""
    p = play()
    with Serve(program, tmp_path, "--engine", p.engine, "--state", "none", env=nvml) as s:
        s.wait(lambda: "GPUs are read once a second beside a model server; --poll 0.1" in s.text())
        first, began = total(s.ready().metrics(), "assay_sampler_ticks_total"), time.monotonic()
        s.wait(lambda: total(s.metrics(), "assay_sampler_ticks_total") >= first + 3)
        assert time.monotonic() - began > 1.5  # a tenth of a second each before
        assert s.text().count("once a second") == 1
    with Serve(program, tmp_path, "--engine", p.engine, "--poll", "0.2", "--state", "none", env=nvml) as s:
        s.wait(lambda: "reading this often can slow a model server; --poll 1" in s.text())
        assert "once a second beside" not in s.text()


@pytest.mark.slow
def test_record_says_that_it_reads_often(assay, play, nvml, tmp_path):
    p = play()
    for poll, said in (("0.2", 1), ("1", 0)):
        done = assay("record", "-o", str(tmp_path / f"{poll}.assay"), "--duration", "3", "--poll", poll, "--engine", p.engine, env=nvml)
        assert done.returncode == 0 and done.stderr.count("can slow a model server") == said, done.stderr


@pytest.mark.slow
def test_processes_are_not_measured_beside_a_server(assay, play, nvml, tmp_path):
    """What each process uses costs the driver most: it is asked for until a server is known, and not from then on."""
    p, counted = play(), {}
    for name, more in (("without", ("--engine", "none")), ("beside", ("--engine", p.engine))):
        env = {**nvml, "FAKE_NVML_CALLS": str(tmp_path / f"calls-{name}")}
        done = assay("record", "-q", "-o", str(tmp_path / f"{name}.assay"), "--duration", "6", "--poll", "0.25", *more, env=env)
        assert done.returncode == 0, done.stderr
        calls = count_calls(tmp_path / f"calls-{name}")
        counted[name] = calls["nvmlDeviceGetProcessUtilization"] / calls["nvmlDeviceGetUtilizationRates"]
    assert counted["beside"] < 0.5 * counted["without"], counted


def test_top_says_that_it_reads_often(program, play, nvml, tmp_path):
    p = play()
    t = Terminal(program, tmp_path, width=140, height=40, env=nvml)
    try:
        t.start(f"--view job --poll 0.25 --engine {p.engine}", show="vLLM at 127.0.0.1")
        assert t.wait("read every 0.25 s, which can slow a model server: + reads less often", timeout=20)
        t.keys("+", "+", "+")
        t.wait("every 2", timeout=20)
        assert "can slow a model server" not in t.screen()
    finally:
        t.close()


def test_no_server_of_now_beside_a_recording(assay, tmp_path):
    """Nor beside other hosts; where a configuration file names it, it is of no account."""
    tour, url = str(ROOT / "docs" / "example" / "tour.assay"), "http://127.0.0.1:1"
    for args in (("once", "--engine", url, tour), ("record", "-o", str(tmp_path / "x.assay"), "--engine", url, "--source", tour),
                 ("serve", "--engine", url, "--listen", "127.0.0.1:0", "--source", tour), ("once", "--engine", url, "--hosts", "nowhere.invalid")):
        done = assay(*args)
        assert done.returncode == 2 and "--engine reads a server as it is now" in done.stderr, (args, done.stderr)
    (tmp_path / "config").write_text(f"engine = {url}\n")
    assert assay("once", "--config", str(tmp_path / "config"), tour).returncode == 0


@pytest.mark.slow
def test_diff_names_what_the_server_did(assay, play, tmp_path):
    """Half of the memory for keys and values: fewer tokens, and the rows that say why."""
    players = {"a": play(arrivals=6.0, prompt=300, output=300), "b": play(arrivals=6.0, prompt=300, output=300, cache=4000)}
    with concurrent.futures.ThreadPoolExecutor() as pool:
        done = list(pool.map(lambda n: assay("record", "-q", "-o", str(tmp_path / f"{n}.assay"), "--duration", "10", "--source", players[n].gpu, "--engine", players[n].engine), players))
    assert [d.returncode for d in done] == [0, 0], done
    got = json.loads(assay("diff", "--format", "json", str(tmp_path / "a.assay"), str(tmp_path / "b.assay")).stdout)
    text = assay("diff", str(tmp_path / "a.assay"), str(tmp_path / "b.assay")).stdout
    assert "slower: tokens/s" in text or "tokens/s" in text.splitlines()[0], text
    assert re.search(r"the model\s+server:\s.*preemptions 0 ->", text, re.S), text
    for row in ("tokens/s", "first_token_s", "token_latency_s", "decode batch", "cache used", "preemptions", "prompt load"):
        assert row in text, row
    assert got


@pytest.mark.slow
def test_diff_of_several_servers(assay, play, tmp_path):
    """All of them together, and whose tokens became fewer."""
    p, q = play(arrivals=6.0, prompt=100), play(arrivals=6.0, prompt=100)
    for name in ("a", "b"):
        done = assay("record", "-q", "-o", str(tmp_path / f"{name}.assay"), "--duration", "9", "--source", p.gpu, "--engine", f"{p.engine},{q.engine}")
        assert done.returncode == 0, done.stderr
        q.server.load.launch, q.server.load.max_running = 0.05, 4  # from now on it makes a fraction of its tokens
        time.sleep(2)
    done = assay("diff", "--format", "json", str(tmp_path / "a.assay"), str(tmp_path / "b.assay"))
    got = json.loads(done.stdout)
    rows = {r["name"]: r for r in got["rows"] + got["phases"]}
    each = [rows[f"tokens of {re.search(':[0-9]+', url[7:]).group()}"] for url in (p.engine, q.engine)]
    for side in ("base", "new"):
        assert rows["tokens/s"][side] == pytest.approx(sum(r[side] for r in each), rel=0.2)
    assert each[1]["new"] < 0.6 * each[1]["base"] and each[0]["new"] > 0.6 * each[0]["base"]


# --- model and hardware ----------------------------------------------------------------------------

def estimates():
    """vLLM's counters of a server that works at 300 TFLOP/s and moves 2.1 TB/s, by its own estimate, since the start."""
    t, text = time.monotonic(), (FIXTURES / "engines" / "vllm.prom").read_text()
    for name, rate in (("estimated_flops_per_gpu_total", 3e14), ("estimated_read_bytes_per_gpu_total", 2e12), ("estimated_write_bytes_per_gpu_total", 1e11),
                       ("generation_tokens_total", 5000)):
        text, n = re.subn(rf"(?m)^(vllm:{name}\{{[^}}]*\}}) .*$", rf"\1 {rate * t!r}", text)
        assert n == 1, name
    return text


@pytest.mark.slow
def test_model_and_hardware_by_the_whole_program(assay, program, play, serve_text, tmp_path):
    """The engine's estimate relative to the peaks of an H200, 989.4 TFLOP/s and 4.8 TB/s, beside the counters."""
    p, url, file = play(), serve_text(estimates), str(tmp_path / "x.assay")
    want = {"mfu": 3e14 / 989.4e12, "mbu": 2.1e12 / 4.8e12}
    e, = engines(assay("once", "--json", "--source", p.gpu, "--engine", url))
    assert {k: e["hardware"][k] for k in want} == pytest.approx(want, rel=0.05)
    text = " ".join(assay("once", "--width", "200", "--source", p.gpu, "--engine", url).stdout.split())
    assert re.search(r"MFU (29|30|31) % \(tensor cores [\d.]+ %\), MBU (43|44|45) % \(device memory [\d.]+ %\)", text), text
    assert assay("record", "-q", "-o", file, "--duration", "4", "--source", p.gpu, "--engine", url).returncode == 0
    total_of = json.loads(assay("report", "--format", "json", file).stdout)["engines"][0]
    assert {k: total_of["hardware"][k] for k in want} == pytest.approx(want, rel=0.05)
    half, = engines(assay("once", "--json", "--source", p.gpu, "--engine", url, "--flops", "fp8"))
    assert half["hardware"]["mfu"] == pytest.approx(want["mfu"] / 2, rel=0.05)  # FP8 has twice the peak
    with Serve(program, tmp_path, "--source", p.gpu, "--engine", url, "--state", "none") as s:
        shown = s.wait(lambda: (t := s.ask()[2]) and "assay_engine_mfu_ratio{" in t and t)
    assert total(shown, "assay_engine_mfu_ratio") == pytest.approx(want["mfu"], rel=0.1)


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("llama-server"), reason="llama.cpp's server is not installed")
def test_a_real_engine(assay, tmp_path):
    """A model of random numbers, six clients for four slots."""
    import tiny_gguf
    tiny_gguf.write(tmp_path / "tiny.gguf")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    url, ended = f"http://127.0.0.1:{port}", threading.Event()
    server = subprocess.Popen(["llama-server", "-m", tmp_path / "tiny.gguf", "--port", str(port), "--metrics", "-np", "4", "-c", "2048"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ask():
        body = json.dumps({"prompt": "hello " * 20, "n_predict": 100, "cache_prompt": False, "ignore_eos": True}).encode()
        while not ended.wait(0.1):
            try:
                urllib.request.urlopen(urllib.request.Request(url + "/completion", body, {"Content-Type": "application/json"}), timeout=30).read()
            except OSError:
                pass

    try:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            try:
                urllib.request.urlopen(url + "/health", timeout=5).read()
                break
            except OSError:
                time.sleep(0.1)
        for _ in range(6):
            threading.Thread(target=ask, daemon=True).start()
        file = str(tmp_path / "x.assay")
        assert assay("record", "-q", "-o", file, "--duration", "12", "--engine", url).returncode == 0
        rows = sqlite3.connect(file).execute("select engine, requests_running, requests_waiting, output_tokens, inter_token_latency from engines").fetchall()
        assert ("llamacpp", 4, 2) in {r[:3] for r in rows}
        assert max(r[3] or 0 for r in rows) > 50 and any(r[4] and 0 < r[4] < 1 for r in rows)
    finally:
        ended.set()
        server.terminate()
        server.wait()
