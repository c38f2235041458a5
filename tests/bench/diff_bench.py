"""How often `assay diff` is right, and what two sessions of a day and eight GPUs cost.

    diff_bench.py BUILD PROGRAM
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from store_bench import capture, cpu

HERE = pathlib.Path(__file__).resolve().parent
FIXTURES = HERE.parent / "fixtures"


def main():
    build, program = pathlib.Path(sys.argv[1]), sys.argv[2]
    env = {**os.environ, "FIXTURES": str(FIXTURES), "ASSAY_DIFF_PAIRS": "1000"}
    done = subprocess.run([build / "tests/test_diff"], env=env, capture_output=True, text=True, check=True)
    print("\n".join(line[2:] for line in (done.stdout + done.stderr).splitlines() if line.startswith("# |")))
    subprocess.run([sys.executable, HERE / "diff_shapes.py", "400"], check=True,
                   env={**env, "PYTHONPATH": str(HERE.parents[1] / "python"), "ASSAY_LIB": str(build.resolve() / "libassay.so.0")})
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        capture(folder / "day.csv", 86400, 1)
        cpu(program, "record", "-q", "--source", folder / "day.csv", "-o", folder / "a.assay")
        shutil.copy(folder / "a.assay", folder / "b.assay")
        wall, used, memory = cpu(program, "diff", folder / "a.assay", folder / "b.assay")
        print(f"two sessions of 24 h x 8 GPUs x 1 Hz: {wall:.2f} s (at most 3), {used:.2f} s of CPU, {memory:.0f} MiB (at most 64)")


if __name__ == "__main__":
    main()
