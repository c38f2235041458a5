"""assay serve on a real GPU: what its counters say of bursts, and what serving costs. Needs PyTorch and GPM.

    serve_gpu.py ASSAY FLOOR [--first SECONDS] [--second SECONDS] [--cost SECONDS] [--dry]

Bursts of matrix products, timed by CUDA's events, are the truth. The server is asked twice a second; from that
come scrapers of every 15 s that began at each half second. Before it the CPU time of `assay serve` and of the bare
loop of NVML calls (nvml_floor), in turns. --dry has no load: to try the script without a GPU.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

GAUGES = {"engine": "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "sm": "DCGM_FI_PROF_SM_ACTIVE", "tensor": "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"}
STEP, SCRAPE = 0.5, 15


class Serve:
    def __init__(self, assay, folder):
        command = [assay, "serve", "--backend", "nvml", "--poll", "0.1", "--listen", "127.0.0.1:0", "--state", f"{folder}/state"]
        self.p = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env={**os.environ, "HOME": folder})
        first = self.p.stderr.readline()
        place = re.search(r"serving http://.*:(\d+)/", first)
        if not place:
            sys.exit(f"serve did not start (status {self.p.wait()}): {first}{self.p.stderr.read()}")
        self.port = int(place.group(1))
        threading.Thread(target=self.p.stderr.read, daemon=True).start()
        end = time.monotonic() + 20
        while not self.scrape().get("observed"):
            if time.monotonic() > end:
                sys.exit("serve sees no GPU with counters: 'assay doctor' tells why")
            time.sleep(0.1)

    def scrape(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        found = {"at": time.monotonic()}
        for name, labels, value in re.findall(r"^(\w+)\{([^}]*)\} (\S+)$", text, re.M):
            if 'gpu="0"' not in labels:
                continue
            if name == "assay_gpu_observed_seconds_total":
                found["observed"] = float(value)
            elif name == "assay_gpu_active_seconds_total":
                found["active " + re.search('unit="([^"]*)"', labels).group(1)] = float(value)
            elif name in GAUGES.values() or name == "DCGM_FI_DEV_GPU_UTIL":
                found[name] = float(value)
        return found

    def stop(self):
        self.p.terminate()
        self.p.wait()


class Load:
    """Seconds of bursts, as CUDA's events time them."""

    def __init__(self):
        import torch
        self.torch = torch
        self.a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
        self.out = torch.empty_like(self.a)
        self.burst(0.5)  # warm

    def burst(self, seconds):
        cuda = self.torch.cuda
        first, last, begun = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True), time.monotonic()
        cuda.synchronize()
        first.record()
        waiting = []
        while time.monotonic() - begun < seconds:  # a few products ahead of the GPU, never a gap between two
            for _ in range(4):
                self.torch.mm(self.a, self.a, out=self.out)
            waiting.append(cuda.Event())
            waiting[-1].record()
            if len(waiting) > 3:
                waiting.pop(0).synchronize()
        last.record()
        cuda.synchronize()
        return first.elapsed_time(last) / 1000


class NoLoad:
    def burst(self, seconds):
        time.sleep(seconds)
        return seconds


def play(serve, load, on, every, seconds):
    """(seconds of load, what was scraped) of bursts; starts and ends while the GPU rests."""
    scrapes, done = [serve.scrape()], threading.Event()

    def ask():
        begun, n = time.monotonic(), 0
        while not done.wait(max(0, begun + n * STEP - time.monotonic())):
            scrapes.append(serve.scrape())
            n += 1

    asker = threading.Thread(target=ask)
    asker.start()
    begun, busy = time.monotonic(), 0.0
    for n in range(int(seconds / every)):
        time.sleep(max(0, begun + n * every + 0.5 - time.monotonic()))
        busy += load.burst(on)
    time.sleep(max(0, begun + int(seconds / every) * every - time.monotonic()))
    done.set()
    asker.join()
    scrapes.append(serve.scrape())
    return busy, scrapes


def tell(title, busy, scrapes):
    first, last = scrapes[0], scrapes[-1]
    wall, observed = last["at"] - first["at"], last["observed"] - first["observed"]
    truth, apart = busy / wall, int(SCRAPE / STEP)
    print(f"{title}: kernels ran {busy:.3f} s of {wall:.2f} s ({truth:.3%}); observed {observed:.2f} s")
    for unit, gauge in GAUGES.items():
        if "active " + unit not in last:
            continue
        rate = (last["active " + unit] - first["active " + unit]) / observed
        means = [statistics.fmean(s.get(gauge, 0.0) for s in scrapes[o::apart]) for o in range(min(apart, len(scrapes)))]
        print(f"  {unit:<7} rate of the counter {rate:8.3%} ({rate / truth - 1:+7.2%} of the kernels' time)   gauge each {SCRAPE} s, by when it began: "
              f"{min(means):.1%} to {max(means):.1%} ({min(means) / truth - 1:+.0%} to {max(means) / truth - 1:+.0%})", flush=True)
    gauge = [s["DCGM_FI_DEV_GPU_UTIL"] / 100 for s in scrapes if "DCGM_FI_DEV_GPU_UTIL" in s]
    means = [statistics.fmean(gauge[o::apart]) for o in range(min(apart, len(gauge)))]
    if means:
        print(f"  GPU_UTIL each {SCRAPE} s: {min(means):.1%} to {max(means):.1%} ({min(means) / truth - 1:+.0%} to {max(means) / truth - 1:+.0%})")


def cpu(pid):
    """CPU seconds of another process (its clock has a name: pid_cpu_clock in clock_getcpuclockid(3))."""
    return time.clock_gettime((~pid << 3) | 2)


def share(pid, seconds):
    """What a process uses of a core."""
    before, begun = cpu(pid), time.monotonic()
    time.sleep(seconds)
    return (cpu(pid) - before) / (time.monotonic() - begun)


def tell_threads(pid):
    for task in sorted(os.listdir(f"/proc/{pid}/task"), key=int):
        name = open(f"/proc/{pid}/task/{task}/comm", encoding="utf-8").read().strip()
        ran = int(open(f"/proc/{pid}/task/{task}/schedstat", encoding="utf-8").read().split()[0]) / 1e9
        print(f"  thread {name:<16} {ran:.3f} s since its start")


def cost(assay, floor, folder, seconds):
    """One after the other, in turns: two readers of a GPU's counters make each other's calls slower."""
    ours, bare = [], []
    for turn in range(2):
        loop = subprocess.Popen([floor, "0.1", str(seconds + 3)], stdout=subprocess.DEVNULL)
        time.sleep(2)
        bare.append(share(loop.pid, seconds))
        loop.wait()
        serve = Serve(assay, f"{folder}/{turn}")
        time.sleep(2)
        ours.append(share(serve.p.pid, seconds))
        with open(f"/proc/{serve.p.pid}/status", encoding="utf-8") as status:
            rss = int(re.search(r"VmRSS:\s*(\d+)", status.read()).group(1)) / 1024
        if turn > 0:
            tell_threads(serve.p.pid)
        serve.stop()
    print(f"cost at 10 Hz, in turns of {seconds:g} s: serve {' '.join(f'{v:.3%}' for v in ours)} of a core, {rss:.1f} MB; "
          f"bare loop {' '.join(f'{v:.3%}' for v in bare)}; ratio {sum(ours) / sum(bare):.3f} (at most 1.15)", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("assay")
    parser.add_argument("floor")
    parser.add_argument("--first", type=float, default=50)
    parser.add_argument("--second", type=float, default=35)
    parser.add_argument("--cost", type=float, default=20)
    parser.add_argument("--dry", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        load = NoLoad() if args.dry else Load()
        cost(args.assay, args.floor, folder, args.cost)
        serve = Serve(args.assay, folder)
        try:
            time.sleep(1)
            for on, every, seconds in ((1.0, 10, args.first), (0.3, 7, args.second)):
                if seconds >= every:
                    tell(f"{on:g} s of every {every} s", *play(serve, load, on, every, seconds))
        finally:
            serve.stop()


if __name__ == "__main__":
    main()
