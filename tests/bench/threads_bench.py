"""What it costs to know the threads of a process that holds a GPU.

    threads_bench.py BUILD [threads] [seconds]

Records at 10 Hz twice: a fake driver says once that a process with so many threads holds the GPU, once that one does that
nobody sees. The difference is what the holder's threads, CPUs, children and framework cost.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

RECORDED = (pathlib.Path(__file__).parents[1] / "fixtures" / "nvml" / "h200-bf16.scn").read_text(encoding="utf-8")
HOLDER = """
import sys, threading, time
def work():
    while True:
        sum(range(1000)); time.sleep(0.005)
for i in range(int(sys.argv[1]) - 1):
    threading.Thread(target=work if i < 8 else time.sleep, args=() if i < 8 else (1e6,), daemon=True).start()
print(flush=True)
time.sleep(1e6)
"""


def share(build, folder, pid, seconds):
    scenario = folder / "scenario"
    scenario.write_text(RECORDED.replace("437:", f"{pid}:"), encoding="utf-8")
    env = {**os.environ, "FAKE_NVML": str(scenario), "ASSAY_NVML_LIB": os.path.join(build, "tests", "libnvidia-ml-fake.so")}
    child = subprocess.Popen([os.path.join(build, "assay"), "record", "-q", "--interval", "0.1", "--duration", str(seconds),
                              "-o", str(folder / f"{pid}.assay")], env=env)
    _, status, used = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit("assay record failed")
    return (used.ru_utime + used.ru_stime) / seconds


def main():
    build, threads = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 300
    seconds = int(sys.argv[3]) if len(sys.argv) > 3 else 10
    with tempfile.TemporaryDirectory() as folder, subprocess.Popen([sys.executable, "-c", HOLDER, str(threads)],
                                                                   stdout=subprocess.PIPE) as holder:
        holder.stdout.readline()
        with_it = share(build, pathlib.Path(folder), holder.pid, seconds)
        without = share(build, pathlib.Path(folder), 4194303, seconds)
        holder.kill()
    print(f"a holder with {threads} threads at 10 Hz: {(with_it - without) * 100:.2f} % of a core "
          f"(record {with_it * 100:.2f} %, with a holder that nobody sees {without * 100:.2f} %); bound 2 %")


if __name__ == "__main__":
    main()
