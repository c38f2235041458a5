"""python3 -m assay: the program of the prefix this package is installed in, else the one on the PATH."""
import os
import shutil
import sys
from pathlib import Path
from typing import Iterator


def _candidates() -> Iterator[str]:
    # PREFIX/lib/python3.x/site-packages/assay, PREFIX/lib/python/assay, or FOLDER/assay of pip --target FOLDER.
    for prefix in list(Path(__file__).resolve().parents)[1:5]:
        yield str(prefix / "bin" / "assay")
    yield shutil.which("assay") or ""


program = next((p for p in _candidates() if os.path.isfile(p) and os.access(p, os.X_OK)), None)
if not program:
    sys.exit("python3 -m assay: cannot find the program 'assay'; install it, or add its folder to PATH")
os.execv(program, [program, *sys.argv[1:]])
