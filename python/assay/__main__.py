"""python3 -m assay: the program, if it is on the PATH."""
import os
import shutil
import sys

program = shutil.which("assay")
if not program:
    sys.exit("python3 -m assay: the program 'assay' is not on the PATH; install it (meson install -C build)")
os.execv(program, [program, *sys.argv[1:]])
