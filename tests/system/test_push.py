"""`assay serve --push`: what an engine has afterwards is what a scrape would have given, whatever happens to the engine in between."""
import contextlib
import gzip
import http.server
import json
import os
import pathlib
import re
import signal
import threading
import time

import pytest

from conftest import ROOT
from engines import Prometheus, VictoriaMetrics, need
from serving import Server, free_port, samples, total
from test_slurm import fake_gpus

TOUR = ROOT / "data" / "h200-tour.csv"
PLAIN = ("--names", "none", "--push-every", "0.1", "--push-labels", "instance=n1,rack=7")
OWN = re.compile(r'(\w+)(?:\{(.*)\})?')


def has_data(engine):
    return engine.query("assay_gpu_up")


@pytest.fixture(params=[Prometheus, VictoriaMetrics])
def engine(request, tmp_path):
    need(request.param.kind)
    with request.param(tmp_path / "engine") as e:
        yield e


def times_of(engine, series):
    """When samples of a series were taken, in the order of time."""
    found = engine.wait(lambda: engine.query(f"{series}[1h]"))
    assert len(found) == 1
    return [t for t, _ in found[0]["values"]]


def drained(server, at_least=1):
    """Once nothing waits any more: how many batches were sent."""
    def done():
        text = server.metrics()
        return total(text, "assay_push_waiting_batches") == 0 and total(text, "assay_push_batches_total", result="sent") >= at_least and text
    return total(server.wait(done, 60), "assay_push_batches_total", result="sent")


def settled(server):
    """What is told of the GPUs, when it stays the same for three batches."""
    def gpus(text):
        return {name: v for name, v in samples(text).items() if name.startswith("assay_gpu_")}
    before = server.metrics()
    drained(server, total(before, "assay_push_batches_total", result="sent") + 3)
    return gpus(before) == (now := gpus(server.metrics())) and now


def pushed_values(engine):
    """{(family, labels of ours): value}; those that are added are as they should be."""
    found = {}
    for r in engine.query('{__name__=~"assay_gpu_.*"}'):
        labels = r["metric"]
        assert labels["job"] == "assay" and labels["instance"] == "n1" and labels["rack"] == "7"
        mine = ",".join(f'{k}="{v}"' for k, v in sorted(labels.items()) if k not in ("__name__", "job", "instance", "rack"))
        found[labels["__name__"], mine] = float(r["value"][1])
    return found


def test_values_are_those_of_a_scrape(engine, program, tmp_path):
    """A capture at its end does not change any more: both ways tell the same of every GPU. An engine may show the last second late,
    and gauges, which end with the capture, for some minutes more."""
    with Server(program, tmp_path, TOUR, "--speed", "1000", *PLAIN, "--state", tmp_path / "s", "--push", engine.url + engine.push) as s:
        scraped = {}
        for name, v in s.ready().wait(lambda: settled(s)).items():
            family, labels = OWN.fullmatch(name).groups()
            scraped[family, ",".join(sorted((labels or "").split(",")))] = pytest.approx(v, rel=1e-12)
        assert len(scraped) > 30
        engine.wait(lambda: (pushed := pushed_values(engine)) and all(pushed.get(k) == v for k, v in scraped.items()), 20)


def test_engine_restarts(engine, program, tmp_path):
    """Everything that was taken while it was down is there afterwards, each once."""
    with Server(program, tmp_path, TOUR, "--speed", "1", *PLAIN, "--state", tmp_path / "s", "--push", engine.url + engine.push) as s:
        engine.wait(lambda: has_data(engine))
        engine.stop()
        # Some waited already while it stopped.
        down, waiting = time.time(), total(s.metrics(), "assay_push_waiting_batches")
        s.wait(lambda: total(s.metrics(), "assay_push_waiting_batches") >= waiting + 5)
        up = time.time()
        s.wait(lambda: "cannot push to" in s.text())
        assert list((tmp_path / "s" / "push").glob("*.push"))
        engine.start()
        drained(s)
        s.wait(lambda: "pushing works again" in s.text())
        text = s.metrics()
        assert total(text, "assay_push_batches_total", result="refused") == 0 == total(text, "assay_push_batches_total", result="dropped")
    times = times_of(engine, "assay_gpu_up")
    assert sum(down <= t <= up for t in times) >= 4 and len(times) == len(set(times))
    # The end of all series is a batch, too, where the protocol has one.
    assert not list((tmp_path / "s" / "push").iterdir())


def test_killed_while_the_engine_is_down(program, tmp_path):
    need("prometheus")
    with Prometheus(tmp_path / "engine") as e:
        e.stop()
        first = Server(program, tmp_path, TOUR, "--speed", "1", *PLAIN, "--state", tmp_path / "s", "--push", e.url).start()
        first.wait(lambda: total(first.metrics(), "assay_push_waiting_batches") >= 4)
        first.stop(signal.SIGKILL)
        killed = time.time()
        e.start()
        with Server(program, tmp_path, TOUR, "--speed", "1", *PLAIN, "--state", tmp_path / "s", "--push", e.url) as s:
            drained(s, 5)
        times = times_of(e, "assay_gpu_up")
        assert sum(t <= killed for t in times) >= 4 and sum(t > killed for t in times) >= 1


def test_ends(program, tmp_path):
    """After the program nothing looks alive: its series are ended, as a scrape ends them. A label of ours that is added is renamed."""
    need("prometheus")
    with Prometheus(tmp_path / "engine") as e:
        with Server(program, tmp_path, TOUR, "--speed", "1", *PLAIN, "--state", "none", "--push", e.url, "--push-labels", "unit=x") as s:
            e.wait(lambda: has_data(e))
            assert e.wait(lambda: e.query('assay_gpu_active_seconds_total{unit="x",exported_unit="sm"}'))
            assert s.stop() == 0 and "not pushed" not in s.text()
        assert not e.query("assay_gpu_up") and times_of(e, "assay_gpu_up")


def test_what_was_not_sent_is_told(program, tmp_path):
    for state, words in ((tmp_path / "s", "wait for the next start"), ("none", "are lost")):
        with Server(program, tmp_path, TOUR, "--speed", "1", *PLAIN, "--state", state, "--push", f"http://127.0.0.1:{free_port()}") as s:
            s.wait(lambda: total(s.metrics(), "assay_push_waiting_batches") >= 2)
            assert s.stop() == 0
            assert re.search(rf"\d+ batches were not pushed.*{words}", s.text())


# --- hostile engines ------------------------------------------------------------------------------


class Hostile(http.server.ThreadingHTTPServer):
    """Answers by a script: a word a request, the last one for ever. Keeps what was asked."""

    daemon_threads = True

    def __init__(self, *script):
        self.script, self.asked = list(script), []
        super().__init__(("127.0.0.1", 0), Answers)
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_port}"


class Answers(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append((self.path, dict(self.headers), body))
        answer = self.server.script[0] if len(self.server.script) == 1 else self.server.script.pop(0)
        if answer == "close":
            self.connection.close()
        elif answer == "garbage":
            self.wfile.write(b"\xff\x00\x1b[31m not http\r\n\r\n")
        elif answer == "endless":
            self.send_response(204)
            self.end_headers()
            with contextlib.suppress(OSError):
                for _ in range(2000):
                    self.wfile.write(b"x" * 65536)
        elif answer == "move":
            self.send_response(302)
            self.send_header("Location", self.server.url + "/elsewhere")
            self.end_headers()
        else:
            status, _, text = answer.partition(" ")
            self.send_response(int(status))
            self.end_headers()
            self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


HOSTILE = [
    ("503 busy", "the server answers 503: busy", "sent", "an engine that is overloaded gets the same batch again"),
    ("429", "the server answers 429", "sent", "so does one that asks for patience"),
    ("401", "the server answers 401", "sent", "a token may be mended"),
    ("404 remote write is off", "404: remote write is off", "sent", "so may a setting"),
    ("move", "the server answers 302", "sent", "redirects are not followed, with a token even less"),
    ("close", "cannot push to", "sent", "a connection that ends"),
    ("garbage", "cannot push to", "sent", "what is not HTTP"),
    ("400 out of order \x1b[31msample", "refused by .*400: out of order \\?\\[31msample", "refused", "a batch that is refused goes, the next is sent"),
    ("413 too large", "refused by .*413: too large", "refused", "so does one that is too large"),
]


@pytest.mark.slow
def test_hostile_answers(program, tmp_path):
    with contextlib.ExitStack() as stack:
        running = []
        for i, (answer, *case) in enumerate(HOSTILE):
            server = Hostile(answer, "204")
            stack.callback(server.shutdown)
            (tmp_path / str(i)).mkdir()
            s = stack.enter_context(Server(program, tmp_path / str(i), TOUR, "--speed", "1", *PLAIN, "--state", tmp_path / str(i), "--push", server.url))
            running.append((server, s, answer, *case))
        for server, s, answer, words, counted, why in running:
            s.wait(lambda s=s: total(s.metrics(), "assay_push_batches_total", result="sent") >= 1)
            s.wait(lambda s=s, words=words: re.search(words, s.text()))
            assert total(s.metrics(), "assay_push_batches_total", result="refused") == (counted == "refused"), why
            assert "\x1b" not in s.text() and not [p for p, _, _ in server.asked if p != "/api/v1/write"]
            if counted == "sent" and answer not in ("close", "garbage"):
                assert server.asked[0][2] == server.asked[1][2], why


def test_each_answer_is_told_alone(program, tmp_path):
    """What one answer said is not said again of the next."""
    server = Hostile("503 first", "400 second", "204")
    with Server(program, tmp_path, TOUR, "--speed", "1", *PLAIN, "--state", "none", "--push", server.url) as s:
        s.wait(lambda: total(s.metrics(), "assay_push_batches_total", result="sent") >= 1)
        s.wait(lambda: s.text().count("the server answers") >= 2)
        assert re.findall(r"the server answers (\d+: \w+)", s.text()) == ["503: first", "400: second"]
    server.shutdown()


def test_endless_answer_and_hanging_engine_delay_nobody(program, tmp_path):
    """A status that came is an answer; while an engine hangs, sampling and serving go on."""
    server = Hostile("endless", "endless", "204")
    with Server(program, tmp_path, TOUR, "--speed", "1", *PLAIN, "--state", "none", "--push", server.url) as s:
        s.ready()
        before = total(s.metrics(), "assay_gpu_observed_seconds_total")
        s.wait(lambda: total(s.metrics(), "assay_gpu_observed_seconds_total") > before)
    server.shutdown()


def test_what_is_sent(program, tmp_path):
    """Headers of the protocol, the token, user and password; the address is told without them."""
    (tmp_path / "t").write_text("secret-token\n")
    server = Hostile("500", "204")
    url = server.url.replace("//", "//user:pass@")
    with Server(program, tmp_path, TOUR, "--speed", "1", *PLAIN, "--state", "none", "--push", url + "/x/write?tenant=1") as s:
        s.wait(lambda: len(server.asked) >= 2)
        s.wait(lambda: "answers 500" in s.text())
        assert "pass" not in s.text() and "tenant" not in s.text()
    path, headers, body = server.asked[0]
    assert path == "/x/write?tenant=1" and headers["Content-Encoding"] == "snappy" and headers["Content-Type"] == "application/x-protobuf"
    assert headers["X-Prometheus-Remote-Write-Version"] == "0.1.0" and headers["Authorization"].startswith("Basic ") and len(body) < 4096
    with Server(program, tmp_path, TOUR, "--speed", "1", *PLAIN, "--state", "none", "--push-token-file", tmp_path / "t", "--push",
                server.url + "/api/v1/import/prometheus") as s:
        n = len(server.asked)
        s.wait(lambda: len(server.asked) > n + 1)
        assert "secret" not in s.text()
    path, headers, _ = server.asked[-1]
    assert re.fullmatch(r"/api/v1/import/prometheus\?timestamp=\d{13}", path)
    assert headers["Authorization"] == "Bearer secret-token" and headers["Content-Encoding"] == "gzip"
    server.shutdown()


@pytest.mark.parametrize("args,words", [
    (["--push", "prometheus:9090"], "not a URL"),
    (["--push", "ftp://x/y"], "not a URL"),
    (["--push", "http:///api"], "not a URL"),
    (["--push", "http://x", "--push-labels", "a-b=c"], "'a-b=c' is not a label"),
    (["--push", "http://x", "--push-labels", "__name__=c"], "is not a label"),
    (["--push-labels", "a=b"], "need --push"),
    (["--push", "http://x", "--push-every", "0"], "--push-every"),
])
def test_mistakes(assay, args, words):
    done = assay("serve", "--check-config", TOUR, *args)
    assert done.returncode == 2 and words in done.stderr


def test_a_token_that_cannot_be_used_is_no_good_configuration(assay, tmp_path):
    token = tmp_path / "token"
    args = ["serve", "--check-config", TOUR, "--push", "http://127.0.0.1:9", "--push-token-file", token]
    token.symlink_to("/dev/zero")
    done = assay(*args)
    assert done.returncode == 3 and "not a regular file" in done.stderr, done
    token.unlink()
    token.write_text("secret\n")
    token.chmod(0o600)
    assert assay(*args).returncode == 0


def test_metrics_tell(program, tmp_path):
    """Without --push nothing is told of it."""
    with Server(program, tmp_path, TOUR, "--speed", "1", "--state", "none") as s:
        assert "assay_push" not in s.ready().metrics()


def test_sizes_are_as_documented(program, tmp_path):
    """Eight GPUs with a job each: series, bytes of a batch and memory as docs/SERVE.md says, to a tenth."""
    text = (ROOT / "docs" / "SERVE.md").read_text()
    series, remote, plain = map(float, re.search(r"with a job each \((\d+) series\) is ([\d.]+) KB with remote-write, ([\d.]+) KB as text", text).groups())
    memory = float(re.search(r"\| memory; while it pushes \| \d+ MB; (\d+) MB", text).group(1))
    sizes = []

    class Sink(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            sizes.append(len(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_):
            pass
    sink = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Sink)
    threading.Thread(target=sink.serve_forever, daemon=True).start()
    (tmp_path / "map").mkdir()
    for gpu in range(8):
        (tmp_path / "map" / str(gpu)).write_text(f"{4711 + gpu}\n")
    for path, size in (("/api/v1/write", remote), ("/api/v1/import/prometheus", plain)):
        with Server(program, tmp_path, "--backend", "nvml", "--hpc-job-mapping-dir", tmp_path / "map", "--push", f"http://127.0.0.1:{sink.server_port}{path}",
                    "--push-every", "2", env=fake_gpus(tmp_path, [[] for _ in range(8)])) as s:
            s.wait(lambda: s.metrics().count("assay_gpu_owner_info{") == 8, 30)
            sizes.clear()
            s.wait(lambda: len(sizes) >= 2, 20)
            assert sizes[-1] / 1000 == pytest.approx(size, rel=0.1) and len(samples(s.metrics())) == pytest.approx(series, rel=0.1), (path, sizes)
            used = int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{s.process.pid}/status").read_text()).group(1)) / 1000
            if "SANITIZED" not in os.environ:
                assert used < memory * 1.15, used
    sink.shutdown()


# ---- OpenTelemetry ----

def attributes(list_):
    """KeyValue messages: keys once, values of the one kind that we write."""
    found = {a["key"]: a["value"]["stringValue"] for a in list_}
    assert len(found) == len(list_) and all(set(a) == {"key", "value"} and set(a["value"]) == {"stringValue"} for a in list_)
    return found


def otlp_points(body):
    """{(name, labels): (kind, value)} of a request, checked against the JSON mapping of OTLP: lowerCamelCase names, 64-bit numbers as texts, enums as numbers."""
    (resource,) = body["resourceMetrics"]
    assert set(body) == {"resourceMetrics"} and set(resource) == {"resource", "scopeMetrics"} and set(resource["resource"]) == {"attributes"}
    (scope,) = resource["scopeMetrics"]
    assert scope["scope"]["name"] == "assay" and re.fullmatch(r"\d+\.\d+\.\d+\S*", scope["scope"]["version"])
    found, names = {}, set()
    for metric in scope["metrics"]:
        assert set(metric) - {"unit"} in ({"name", "gauge"}, {"name", "sum"}) and metric["name"] not in names, "a metric comes once"
        names.add(metric["name"])
        kind = "sum" if "sum" in metric else "gauge"
        assert set(metric[kind]) == ({"dataPoints", "aggregationTemporality", "isMonotonic"} if kind == "sum" else {"dataPoints"})
        assert kind == "gauge" or (metric["sum"]["aggregationTemporality"] == 2 and metric["sum"]["isMonotonic"] is True)
        assert metric[kind]["dataPoints"]
        for point in metric[kind]["dataPoints"]:
            assert set(point) == {"attributes", "timeUnixNano", "asDouble"} and re.fullmatch(r"\d{19}", point["timeUnixNano"])
            assert isinstance(point["asDouble"], (int, float)) and abs(int(point["timeUnixNano"]) / 1e9 - time.time()) < 600
            labels = ",".join(f'{k}="{v}"' for k, v in sorted(attributes(point["attributes"]).items()))
            assert (metric["name"], labels) not in found
            found[metric["name"], labels] = kind, float(point["asDouble"]), metric.get("unit")
    return attributes(resource["resource"]["attributes"]), found


def test_opentelemetry_has_what_a_scrape_has(program, tmp_path):
    server = Hostile("204")
    with Server(program, tmp_path, TOUR, "--speed", "1000", *PLAIN, "--state", "none", "--push", server.url + "/otlp/v1/metrics") as s:
        scraped = {}
        for name, v in s.ready().wait(lambda: settled(s)).items():
            family, labels = OWN.fullmatch(name).groups()
            scraped[family, ",".join(sorted((labels or "").split(",")))] = pytest.approx(v, rel=1e-12)
        n = len(server.asked)
        s.wait(lambda: len(server.asked) > n + 2)
    path, headers, raw = server.asked[n + 1]
    assert path == "/otlp/v1/metrics" and (headers["Content-Type"], headers["Content-Encoding"]) == ("application/json", "gzip")
    resource, points = otlp_points(json.loads(gzip.decompress(raw)))
    assert resource == {"service.name": "assay", "service.instance.id": "n1", "rack": "7"}
    assert len(scraped) > 30 and {k: points[k][1] for k in scraped} == scraped
    kinds = {name: point[0] for (name, _), point in points.items()}
    assert kinds["assay_gpu_energy_joules_total"] == "sum" and kinds["assay_gpu_up"] == "gauge"
    assert {u for (name, _), (_, _, u) in points.items() if name.endswith("_joules_total")} == {"J"}
    server.shutdown()


def test_a_collector_that_is_busy_gets_it_again(program, tmp_path):
    server = Hostile("503 busy", "200")
    with Server(program, tmp_path, TOUR, "--speed", "1", *PLAIN, "--state", "none", "--push", server.url + "/v1/metrics") as s:
        s.wait(lambda: len(server.asked) >= 3)
    assert server.asked[0][2] == server.asked[1][2] != server.asked[2][2]
    server.shutdown()
