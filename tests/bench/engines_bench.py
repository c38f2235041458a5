"""What asking model servers costs.

    engines_bench.py BUILD [servers] [seconds]

Prints the share of a core that the asking thread of `assay record` takes for so many servers, each asked once a second for a
text as long as vLLM's.
"""
import http.server
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

FIXTURE = pathlib.Path(__file__).resolve().parents[1] / "fixtures" / "engines" / "vllm.prom"
TEXT_BYTES = 60_000  # of a vLLM that serves one model


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    body = b""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.body)))
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *args):
        pass


def make_text():
    """Families that nobody wants, as a Python server has them, before those of the engine."""
    other = "".join(f'http_request_duration_seconds_bucket{{handler="/v1/chat/completions",le="{i / 10}",method="POST",status="2xx"}} {i}.0\n'
                    for i in range(600))
    text = other + FIXTURE.read_text()
    return (text + "# " + "x" * max(0, TEXT_BYTES - len(text) - 3) + "\n").encode() if len(text) < TEXT_BYTES else text.encode()


def cpu_of_threads(pid):
    """CPU seconds of each thread, by its number."""
    times = {}
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        times[task.name] = int((task / "schedstat").read_text().split()[0]) / 1e9
    return times


def record(assay, folder, urls, seconds):
    """CPU seconds a second of all threads, and of the busiest thread that the engines add."""
    command = [assay, "record", "-q", "-o", f"{folder}/{len(urls)}.assay", "--poll", "1", "--stacks", "off", "--engine", ",".join(urls) or "none"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    time.sleep(3)
    before, begun = cpu_of_threads(process.pid), time.monotonic()
    time.sleep(seconds)
    after, took = cpu_of_threads(process.pid), time.monotonic() - begun
    process.terminate()
    process.wait()
    return sum(after.get(t, 0) - v for t, v in before.items()) / took


def main():
    build, n, seconds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10, float(sys.argv[3]) if len(sys.argv) > 3 else 20
    Handler.body = make_text()
    servers = [http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) for _ in range(n)]
    for s in servers:
        threading.Thread(target=s.serve_forever, daemon=True).start()
    urls = [f"http://127.0.0.1:{s.server_address[1]}/metrics" for s in servers]
    with tempfile.TemporaryDirectory() as folder:
        assay = os.path.join(build, "assay")
        alone, beside = record(assay, folder, [], seconds), record(assay, folder, urls, seconds)
    cost = beside - alone
    print(f"engines  {n} servers of {len(Handler.body) // 1000} kB, once a second: {100 * cost:.3f} % of a core ({100 * beside:.3f} % with the host, "
          f"{100 * alone:.3f} % without servers); {1e6 * cost / n:.0f} us a server")


if __name__ == "__main__":
    main()
