"""The flight recorder: what it costs, what it keeps, how long a dump takes, and whether a tick is late for it.

    flight_bench.py BUILD

Two servers of eight simulated GPUs at ten samples a second run side by side, one with the recorder and one without. SECONDS=60 of them, ROUNDS=3 times with their places changed.
"""
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = pathlib.Path(sys.argv[1]).resolve()
SECONDS = float(os.environ.get("SECONDS", 60))
ROUNDS = int(os.environ.get("ROUNDS", 3))
GPUS = 8


class Serving:
    def __init__(self, home, *args):
        scenario = home / "scenario"
        copies = "".join(f"[gpu copy 0]\nnvmlDeviceGetUUID = 0 GPU-{i}0000000-0000-0000-0000-000000000000\n" for i in range(1, GPUS))
        scenario.write_text((ROOT / "tests/fixtures/nvml/h200-bf16.scn").read_text() + "\n" + copies)
        env = {"PATH": os.environ["PATH"], "HOME": str(home), "FAKE_NVML": str(scenario), "ASSAY_NVML_LIB": str(BUILD / "tests/libnvidia-ml-fake.so")}
        self.env = env
        self.p = subprocess.Popen([BUILD / "assay", "serve", "--listen", "127.0.0.1:0", *args], env=env, stderr=subprocess.PIPE, text=True)
        self.url = re.search(r"http://[^/]+/", self.p.stderr.readline())[0]

    def cpu_s(self):
        """Of all its threads, to the nanosecond."""
        return sum(int((t / "schedstat").read_text().split()[0]) for t in pathlib.Path(f"/proc/{self.p.pid}/task").iterdir()) / 1e9

    def memory_kb(self):
        return int(re.search(r"^Pss:\s+(\d+)", pathlib.Path(f"/proc/{self.p.pid}/smaps_rollup").read_text(), re.M)[1])

    def dump(self):
        began = time.monotonic()
        done = subprocess.run([BUILD / "assay", "dump", str(self.p.pid)], env=self.env, capture_output=True, text=True, check=True)
        return time.monotonic() - began, os.path.getsize(done.stdout.strip())

    def close(self):
        self.p.terminate()
        self.p.wait()


def side_by_side(tmp, turn):
    """CPU of SECONDS with and without, and the server with, whose dumps are next."""
    folders = [tmp / f"{turn}-{name}" for name in ("with", "without")]
    for f in folders:
        f.mkdir()
    order = [lambda: Serving(folders[0]), lambda: Serving(folders[1], "--flight", "off")]
    servers = [None, None]
    for i in (0, 1) if turn % 2 else (1, 0):
        servers[i] = order[i]()
    time.sleep(3)
    before = [s.cpu_s() for s in servers]
    time.sleep(SECONDS)
    used = [s.cpu_s() - b for s, b in zip(servers, before)]
    memory = [s.memory_kb() for s in servers]
    return servers, used, memory


def main():
    print(f"flight recorder: {GPUS} GPUs, 10 Hz, {ROUNDS} × {SECONDS:.0f} s with and without it side by side", flush=True)
    more, took, sizes, late = [], [], [], [0, 0]
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(ROUNDS):
            servers, used, memory = side_by_side(pathlib.Path(folder), turn)
            more.append(used[0] / used[1] - 1)
            print(f"  CPU with {used[0] / SECONDS * 100:.2f} %, without {used[1] / SECONDS * 100:.2f} % of a core: {more[-1] * 100:+.1f} %; memory {memory[0] / 1024:.1f} and {memory[1] / 1024:.1f} MiB", flush=True)
            lates = [late_of(s) for s in servers]
            for _ in range(5):
                t, size = servers[0].dump()
                took.append(t)
                sizes.append(size)
            late = [a + late_of(s) - b for a, s, b in zip(late, servers, lates)]
            for s in servers:
                s.close()
    print(f"  CPU: {statistics.median(more) * 100:+.1f} % (at most +2)")
    print(f"  {len(took)} dumps: the slowest {max(took):.2f} s, the rate of asking included, {max(sizes) / 1e6:.1f} MB; late ticks meanwhile with {late[0]:.0f}, without {late[1]:.0f}")
    out = subprocess.run([BUILD / "tests/test_flight"], capture_output=True, text=True, check=True)
    print("  ten minutes of values that all change, in fast motion:", re.search(r"kept in .*", out.stdout + out.stderr)[0], "(at most 16 MB, 1 s)")


def late_of(server):
    text = urllib.request.urlopen(server.url + "metrics").read().decode()
    return float(re.search(r'^assay_sampler_ticks_total\{result="late"\} (\S+)$', text, re.M)[1])


main()
