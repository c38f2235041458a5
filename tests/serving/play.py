"""Serves a playing server: /metrics as its engine writes it, /gpu as an exporter of its GPU; and a tree of /proc in which its
process works. `with Player(load) as p:` gives the addresses and the tree."""
import http.server
import os
import pathlib
import threading
import time

from dialects import exposition
from model import Server

PID, CHILD, WORKER = 100, 101, 102  # takes requests, a front end of its own, uses the GPUs
STAT = "{pid} (vllm) S {parent} {pid} {pid} 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0 100 100000 1000 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0\n"


def counters_of(s, gpu):
    g = s.gpu()
    label = f'{{gpu="{gpu}",UUID="GPU-00000000-0000-0000-0000-00000000000{gpu + 1}",device="nvidia{gpu}",modelName="{s.load.card}",Hostname="here"}}'
    top, full = s.load.power, max(g["tensor"] / s.load.tensor_top, 0.75 * g["dram"] / s.load.dram_top, 0.3 * g["sm"])
    power = top if s.load.capped else 0.2 * top + 0.8 * top * full
    rows = [("DEV_GPU_UTIL", 100 * g["busy"]), ("DEV_MEM_COPY_UTIL", 100 * g["dram"]), ("DEV_POWER_USAGE", power), ("DEV_FB_USED", 120000),
            ("DEV_FB_FREE", 23000), ("DEV_SM_CLOCK", 1200 if s.load.capped else 1980), ("DEV_MAX_SM_CLOCK", 1980), ("DEV_GPU_TEMP", 55),
            ("DEV_ENFORCED_POWER_LIMIT", top), ("DEV_CLOCKS_EVENT_REASONS", 4 if s.load.capped else 0)]
    if s.load.counters:
        rows += [("PROF_GR_ENGINE_ACTIVE", g["busy"]), ("PROF_SM_ACTIVE", g["sm"]), ("PROF_SM_OCCUPANCY", g["sm"] / 3),
                 ("PROF_PIPE_TENSOR_ACTIVE", g["tensor"]), ("PROF_DRAM_ACTIVE", g["dram"]), ("PROF_PIPE_FP32_ACTIVE", 0.04 * g["sm"]),
                 ("PROF_PCIE_TX_BYTES", 2e7), ("PROF_PCIE_RX_BYTES", 5e7), ("PROF_PIPE_FP64_ACTIVE", 0), ("PROF_PIPE_FP16_ACTIVE", 0.01 * g["sm"])]
    return "".join(f"DCGM_FI_{name}{label} {v:.6f}\n" for name, v in rows)


def counters(s):
    return "".join(counters_of(s, gpu) for gpu in range(s.load.gpus))


class Player:
    def __init__(self, load, root, seed=1, warm=30.0):
        self.server, self.root, self.lock = Server(load, seed), pathlib.Path(root), threading.Lock()
        self.server.until(warm)
        self.warm, self.begun, self.stop = warm, time.monotonic(), threading.Event()

    def advance(self):
        with self.lock:
            self.server.until(self.warm + time.monotonic() - self.begun)
            return self.server

    def answer(self, path):
        s = self.advance()
        starting = s.load.loading > 0 or s.load.network > 0
        with self.lock:
            return counters(s) if path.startswith("/gpu") else None if starting else exposition(s)

    def put(self, path, text):
        """Like those of the kernel: who keeps it open reads what is in it now, in one piece."""
        to = self.root / path
        to.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(to, os.O_WRONLY | os.O_CREAT, 0o600)
        os.pwrite(fd, text.encode(), 0)
        os.close(fd)

    def tell_process(self):
        s = self.advance()
        seconds = time.monotonic() - self.begun
        ticks = int(100 * s.cpu)
        read, net = int(s.load.loading * seconds), int(s.load.network * seconds)
        for pid, parent, own in ((PID, 1, ticks // 20 if s.load.child else ticks), (CHILD, PID, ticks if s.load.child else ticks // 20),
                                 (WORKER, PID, int(100 * s.cpu_worker))):
            stat = STAT.format(pid=pid, parent=parent, ticks=own)
            self.put(f"proc/{pid}/stat", stat)
            self.put(f"proc/{pid}/task/{pid}/stat", stat)
        self.put(f"proc/{WORKER}/io", f"rchar: {read}\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: {read}\nwrite_bytes: 0\ncancelled_write_bytes: 0\n")
        self.put("proc/self/net/dev", "Inter-|\n face |\n" + f"  eth0: {net} 0 0 0 0 0 0 0 {net // 100} 0 0 0 0 0 0 0\n")
        self.put("proc/net/dev", (self.root / "proc/self/net/dev").read_text())
        self.put("proc/stat", f"cpu  {int(100 * seconds)} 0 0 {int(1500 * seconds)} 0 0 0 0 0 0\ncpu0 {int(100 * seconds)} 0 0 0 0 0 0 0 0 0\nbtime 1700000000\n")

    def keep_telling(self):
        while not self.stop.wait(0.05):
            self.tell_process()

    def __enter__(self):
        player = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                text = player.answer(self.path)
                body = (text or "").encode()
                self.send_response(200 if text is not None else 503)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        port = self.http.server_address[1]
        self.engine, self.gpu = f"http://127.0.0.1:{port}/metrics", f"http://127.0.0.1:{port}/gpu/metrics"
        self.put("proc/self/net/tcp", f"  sl\n   0: 0100007F:{port:04X} 00000000:0000 0A 0:0 00:0 0  0 0 4711 1\n")
        self.put("proc/meminfo", "MemTotal: 1000000 kB\nMemAvailable: 900000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n")
        self.put("proc/loadavg", "1.0 1.0 1.0 1/100 100\n")
        for pid in (PID, CHILD, WORKER):
            self.put(f"proc/{pid}/cmdline", "vllm\0serve\0toy\0")
            self.put(f"proc/{pid}/status", "Name:\tvllm\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nCpus_allowed_list:\t0-15\n")
            self.put(f"proc/{pid}/cgroup", "0::/\n")
            self.put(f"proc/{pid}/comm", "vllm\n")
        (self.root / f"proc/{PID}/fd").mkdir(exist_ok=True)
        (self.root / f"proc/{PID}/fd/3").symlink_to("socket:[4711]")
        (self.root / f"proc/{WORKER}/fd").mkdir(exist_ok=True)
        (self.root / f"proc/{WORKER}/fd/3").symlink_to("/dev/nvidia0")
        self.tell_process()
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.teller = threading.Thread(target=self.keep_telling, daemon=True)
        self.teller.start()
        return self

    def __exit__(self, *why):
        self.stop.set()
        self.teller.join()
        self.http.shutdown()
        self.http.server_close()

    def options(self):
        """Of assay, to look at it."""
        return ["--source", self.gpu, "--engine", self.engine, "--host", "--pid", str(WORKER), "--root", str(self.root)]
