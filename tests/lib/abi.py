"""The library's ABI as text: exported symbols, declarations, sizes, offsets, values.

    abi.py BUILD > tests/lib/abi.txt      after a change that was meant; lines may be added, and within one
                                          soname none may change or go
"""
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
INCLUDE = HERE.parents[1] / "include"


def symbols(build):
    """What the library exports: name@version."""
    out = subprocess.run(["nm", "-D", "--defined-only", str(pathlib.Path(build) / "libassay.so.0")], check=True,
                         capture_output=True, text=True).stdout
    return sorted(re.sub("@@", "@", line.split()[2]) for line in out.splitlines() if line.split()[1] != "A")


def declarations():
    """Every function of the header, on one line each."""
    text = re.sub(r"/\*.*?\*/", "", (INCLUDE / "assay/assay.h").read_text(), flags=re.S)
    found = re.findall(r"ASSAY_API\s+([^;{]+);", text)
    return sorted((re.sub(r"\s+", " ", f).strip() for f in found), key=lambda f: re.search(r"(assay_\w+)\(", f).group(1))


def layout():
    """Sizes, offsets and values, as the compiler has them."""
    with tempfile.TemporaryDirectory() as tmp:
        program = f"{tmp}/abi"
        subprocess.run(["cc", "-std=c99", f"-I{INCLUDE}", str(HERE / "abi.c"), "-o", program], check=True)
        return subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()


def abi(build):
    lines = [f"symbol {s}" for s in symbols(build)] + [f"function {f}" for f in declarations()] + layout()
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(abi(sys.argv[1]))
