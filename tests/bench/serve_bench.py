"""assay serve with eight GPUs: memory, scrapes a second, milliseconds a scrape; node_exporter beside it.

    serve_bench.py BUILD
A client of its own: raw sockets with keep-alive, so that the server is what is measured.
"""
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(sys.argv[1]).resolve()
ASSAY = pathlib.Path(os.environ.get("ASSAY", BUILD / "assay"))
GPUS, RATE = 8, 10


def line(name, value, bound=""):
    print(f"  {name:<44} {value:>16}   {bound}")


def make_capture(path, seconds):
    head = "timestamp,gpu_id,uuid,model,sm_active_pct,gr_engine_active_pct,tensor_active_pct,dram_active_pct,gpu_util_pct,mem_used_mib,mem_total_mib,power_w,gpu_temp_c,sm_clock_mhz"
    with open(path, "w") as out:
        out.write(head + "\n")
        for i in range(seconds * RATE):
            for g in range(GPUS):
                out.write(f"{1_700_000_000 + i / RATE:.1f},{g},GPU-{g:08d}-0000-0000-0000-000000000000,NVIDIA H200,{i % 100},{i % 100},{i % 50},{i % 30},{i % 100},"
                          f"{i % 80000},143771,{200 + i % 400},{40 + i % 30},1980\n")


def start(command, env):
    p = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    return p


class Client:
    """One connection that is kept."""

    def __init__(self, port):
        self.s = socket.create_connection(("127.0.0.1", port))
        self.s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buf = b""

    def scrape(self, path="/metrics"):
        self.s.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        while b"\r\n\r\n" not in self.buf:
            self.buf += self.s.recv(1 << 18)
        head, _, rest = self.buf.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", head)
        if length:
            need = int(length.group(1))
            while len(rest) < need:
                rest += self.s.recv(1 << 18)
            body, self.buf = rest[:need], rest[need:]
            return body
        while not rest.endswith(b"0\r\n\r\n"):
            rest += self.s.recv(1 << 18)
        self.buf = b""
        return rest


def rss_mb(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1)) / 1024


def cpu_s(pid):
    f = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(f[11]) + int(f[12])) / os.sysconf("SC_CLK_TCK")


def storm(port, pid, seconds=3):
    """(scrapes a second of one core of the server, median ms as the client sees it)."""
    c, took = Client(port), []
    before, end = cpu_s(pid), time.monotonic() + seconds
    while time.monotonic() < end:
        begun = time.perf_counter()
        c.scrape()
        took.append(time.perf_counter() - begun)
    used = cpu_s(pid) - before
    return len(took) / max(used, 1e-3), statistics.median(took) * 1000, len(took) / seconds


def rss_and_files(pid):
    return rss_mb(pid), len(os.listdir(f"/proc/{pid}/fd"))


def ticks_of(port):
    text = Client(port).scrape().decode()
    return {k: float(v) for k, v in re.findall(r'assay_sampler_ticks_total\{result="(\w+)"\} (\S+)', text)}


def bench_storm(tmp):
    """The sampler's lateness alone, and beside 64 streams and four that scrape without a pause."""
    env = {"HOME": str(tmp), "PATH": os.environ["PATH"], "FAKE_NVML": str(HERE.parent / "fixtures/nvml/h200-bf16.scn"), "ASSAY_NVML_LIB": str(BUILD / "tests/libnvidia-ml-fake.so")}
    p = start([ASSAY, "serve", "--backend", "nvml", "--listen", "127.0.0.1:0", "--state", str(tmp / "storm")], env)
    try:
        port = int(re.search(r":(\d+)/", p.stderr.readline()).group(1))

        def late(seconds):
            before = ticks_of(port)
            time.sleep(seconds)
            after = ticks_of(port)
            grown = {k: after.get(k, 0) - before.get(k, 0) for k in after}
            return (grown.get("late", 0) + grown.get("missed", 0)) / max(1, sum(grown.values()))

        time.sleep(2)
        alone = late(8)
        streams = []
        for _ in range(64):
            c = socket.create_connection(("127.0.0.1", port))
            c.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            streams.append(c)
        storms = [subprocess.Popen([sys.executable, __file__, "--storm", str(port), "10"], stdout=subprocess.DEVNULL) for _ in range(4)]
        time.sleep(1)
        beside = late(8)
        for s in storms:
            s.wait()
        line("ticks late or missed at 10 Hz, alone", f"{alone:.1%}")
        line("  beside 64 streams and a storm", f"{beside:.1%}")
    finally:
        p.terminate()
        p.wait()


def bench_half_a_day(tmp):
    """Twelve hours of eight GPUs, a sample each 5 s, 3600 times as fast."""
    path = tmp / "long.csv"
    with open(path, "w") as out:
        out.write("timestamp,gpu_id,sm_active_pct,gr_engine_active_pct,tensor_active_pct,dram_active_pct,power_w,mem_used_mib,gpu_temp_c\n")
        for i in range(12 * 720):
            for g in range(GPUS):
                out.write(f"{1_700_000_000 + 5 * i},{g},{i % 100},{i % 100},{i % 60},{i % 40},{300 + i % 300},{i % 9000},{40 + i % 40}\n")
    p = start([ASSAY, "serve", str(path), "--listen", "127.0.0.1:0", "--speed", "3600", "--state", str(tmp / "day")], {"HOME": str(tmp), "PATH": os.environ["PATH"]})
    try:
        port = int(re.search(r":(\d+)/", p.stderr.readline()).group(1))
        marks = {2: None, 6: None, 11.9: None}
        for hours in marks:
            while True:
                seen = re.findall(r"assay_gpu_observed_seconds_total\{[^}]*\} (\S+)", Client(port).scrape().decode())
                if seen and float(seen[0]) > hours * 3600:
                    break
                time.sleep(0.1)
            marks[hours] = rss_and_files(p.pid)
        line("12 h: memory and files after 2, 6, 12 h", ", ".join(f"{m:.1f} MB/{n}" for m, n in marks.values()))
    finally:
        p.terminate()
        p.wait()


def main():
    with tempfile.TemporaryDirectory() as folder:
        tmp = pathlib.Path(folder)
        make_capture(tmp / "run.csv", 3700)
        env = {"HOME": folder, "PATH": os.environ["PATH"]}
        p = start([ASSAY, "serve", str(tmp / "run.csv"), "--listen", "127.0.0.1:0", "--speed", "60", "--state", str(tmp / "state")], env)
        try:
            port = int(re.search(r":(\d+)/", p.stderr.readline()).group(1))
            print(f"serve: {GPUS} GPUs at {RATE * 60} samples a second, an hour of history")
            while True:
                text = Client(port).scrape().decode()
                seen = re.findall(r"assay_gpu_observed_seconds_total\{[^}]*\} (\S+)", text)
                if seen and float(seen[0]) > 3600:
                    break
                time.sleep(1)
            viewers = []
            for _ in range(10):
                v = socket.create_connection(("127.0.0.1", port))
                v.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
                v.recv(1000)
                viewers.append(v)
            line("memory, with 10 viewers", f"{rss_mb(p.pid):.1f} MB", "at most 30")
            a_core, ms, wall = storm(port, p.pid)
            line("scrapes a second of one core", f"{a_core:.0f}", "at least 1000")
            line("one scrape, as a client sees it", f"{ms:.2f} ms", "at most 2")
            line("scrapes a second of one client", f"{wall:.0f}")
            c, took = Client(port), []
            for _ in range(30):  # so far apart that none is a copy of the one before
                time.sleep(0.15)
                begun = time.perf_counter()
                c.scrape()
                took.append(time.perf_counter() - begun)
            line("one scrape whose text is made anew", f"{statistics.median(took) * 1000:.2f} ms", "at most 2")
            text = Client(port).scrape().decode()
            formatted = float(re.search(r"\nassay_scrape_format_seconds_total (\S+)", text).group(1))
            scrapes = float(re.search(r"\nassay_scrapes_total (\S+)", text).group(1))
            line("time on texts, a scrape", f"{formatted * 1000 / max(1, scrapes):.3f} ms")
            line("  its size", f"{len(text) / 1024:.0f} KiB")
        finally:
            p.terminate()
            p.wait()
        bench_storm(tmp)
        bench_half_a_day(tmp)
        other = shutil.which("prometheus-node-exporter")
        if other:
            with socket.socket() as s:
                s.bind(("127.0.0.1", 0))
                port = s.getsockname()[1]
            p = subprocess.Popen([other, f"--web.listen-address=127.0.0.1:{port}"], stderr=subprocess.DEVNULL)
            try:
                time.sleep(2)
                a_core, ms, _ = storm(port, p.pid)
                line("node_exporter: scrapes a second of one core", f"{a_core:.0f}")
                line("node_exporter: one scrape", f"{ms:.2f} ms")
                line("node_exporter: memory", f"{rss_mb(p.pid):.1f} MB")
            finally:
                p.terminate()
                p.wait()


if __name__ == "__main__":
    if sys.argv[1] == "--storm":
        storm(int(sys.argv[2]), os.getpid(), float(sys.argv[3]))
    else:
        main()
