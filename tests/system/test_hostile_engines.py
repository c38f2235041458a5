"""A model server that lies: numbers that cannot be, names that would do something, more than fits. What is written of it stays well-formed."""
import contextlib
import http.server
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import threading

import pytest

from conftest import FIXTURES, clean_env, tried
from serving import Server as Serve

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "serving"))
from model import Load  # noqa: E402
from play import Player  # noqa: E402

TEXT = (FIXTURES / "engines" / "vllm.prom").read_text()
SAMPLE = re.compile(r'[a-zA-Z_:][\w:]*(\{([a-zA-Z_]\w*="(\\[\\"n]|[^"\\\n])*",?)*\})? (\S+)')
NAME = 'A\\nFORGED\033[2J\u202e\u2028</script><script>alert(1)</script>\\"\\\\'


def all_values(value):
    return re.sub(r"(?m)^([^#\n].*) \S+$", rf"\1 {value}", TEXT)


# What it answers at each question.
LIES = {
    "beyond": lambda n: all_values("1e308"),
    "beyond, and each twice": lambda n: 2 * all_values("1e308"),
    "all that may be": lambda n: 2 * all_values("1e27"),
    "no number": lambda n: all_values("NaN"),
    "infinite": lambda n: all_values("+Inf"),
    "negative": lambda n: all_values("-5"),
    "next to nothing": lambda n: all_values("5e-324"),
    "back and forth": lambda n: all_values(("0", "1e308")[n % 2]),
    "faster than anything": lambda n: all_values(f"1e{min(60 * n, 300)}"),
    "models without end": lambda n: "".join(f'vllm:generation_tokens_total{{model_name="m{i}"}} {i}\n' for i in range(100000)),
    "buckets without end": lambda n: "".join(f'vllm:time_to_first_token_seconds_bucket{{model_name="m",le="{i}"}} {i}\n' for i in range(80000)),
    "a name": lambda n: TEXT.replace('model_name="', f'model_name="{NAME}'),
    "an answer of 9 MiB": lambda n: "#" * (9 << 20),
}


@contextlib.contextmanager
def lying(how):
    asked = iter(range(1 << 30))

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            with contextlib.suppress(OSError):
                self.send_response(200)
                self.end_headers()
                self.wfile.write(LIES[how](next(asked)).encode())

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/metrics"
        server.shutdown()


def check_json(text):
    """Strict JSON, whose numbers are numbers."""
    def refuse(word):
        raise AssertionError(f"{word} is no JSON: {text[:2000]}")
    return json.loads(text, parse_constant=refuse)


def check_text(text):
    odd = [c for c in text if (c < " " and c != "\n") or 0x7f <= ord(c) < 0xa0 or "\u2028" <= c <= "\u202e"]
    assert not odd, (odd, text[:2000])
    assert not any(line.lstrip().startswith("FORGED") for line in text.splitlines()), text
    assert not re.search(r"\b-?(nan|inf)\b|\d{30}", text), text


QUICK = ("beyond, and each twice", "back and forth", "a name")


@pytest.mark.parametrize("how", [how if how in QUICK else pytest.param(how, marks=pytest.mark.slow) for how in LIES])
def test_a_recording_and_what_is_told_of_it(program, tmp_path, how):
    path, env = tmp_path / "r.assay", clean_env(tmp_path)
    with lying(how) as url:
        with subprocess.Popen([program, "record", "-q", "--duration", "1", "--interval", "0.2", "--engine", url, "-o", path], env=env) as p:
            _, status, usage = os.wait4(p.pid, 0)
            p.returncode = os.waitstatus_to_exitcode(status)
        assert p.returncode == 0 and (os.environ.get("SANITIZED") or usage.ru_maxrss < 200 << 10)
        for words in (["once", "--json", "--engine", url], ["report", path, "--format", "json"], ["report", path, "--goodput", "--format", "json"], ["once", "--source", path, "--json"],
                      ["export", "trace", path], ["once", "--engine", url], ["report", path, "--all"], ["report", path, "--format", "markdown"], ["once", "--source", path, "--width", "200"]):
            tried("hostile answers")
            done = subprocess.run([program, *map(str, words)], env=env, capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode in (0, 3), done
            (check_json if done.stdout.startswith("{") else check_text)(done.stdout)
            check_text(done.stderr)
        page = subprocess.run([program, "report", path, "--format", "html"], env=env, capture_output=True, text=True, timeout=60, check=True).stdout
        assert "<script>alert" not in page


@pytest.mark.parametrize("how", ["beyond, and each twice", "all that may be", "faster than anything", "a name"])
def test_serve(program, tmp_path, how):
    with Player(Load(), tmp_path / "root") as play, lying(how) as url, Serve(program, tmp_path, "--source", play.gpu, "--engine", url, "--state", "none") as server:
        text = server.wait(lambda: (t := server.metrics()) and "assay_engine_up{" in t and len(server.json("/api/v1/now")["engines"]) == 1 and t)
        for line in text.splitlines():
            assert line.startswith("#") or (m := SAMPLE.fullmatch(line)) and math.isfinite(float(m[4])), line
        engine, = check_json(server.ask("/api/v1/now")[2])["engines"]
        assert engine["engine"] in ("vllm", "unknown") and (engine["model"] or "").isprintable()
