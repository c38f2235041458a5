"""What a program or library asks of the machine it starts on."""
import os
import re
import subprocess

# The libraries of glibc, all of which manylinux_2_28 lets a wheel use.
GLIBC_PARTS = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2",
               "ld-linux-aarch64.so.1"}
NEWEST = (2, 28)


def _tool(path):
    """The objdump for the machine that the file is for; 183 is aarch64."""
    with open(path, "rb") as file:
        machine = int.from_bytes(file.read(20)[18:], "little")
    return "aarch64-linux-gnu-objdump" if machine == 183 and os.uname().machine != "aarch64" else "objdump"


def _objdump(option, path):
    return subprocess.run([_tool(path), option, str(path)], check=True, capture_output=True, text=True).stdout


def needed(path):
    """The libraries that must be there."""
    return re.findall(r"NEEDED +(\S+)", _objdump("-p", path))


def symbols(path):
    """(version, name) of each symbol of glibc that is asked for."""
    found = re.findall(r"\*UND\*.*?\(?GLIBC_([0-9.]+)\)? +(\S+)", _objdump("-T", path))
    return sorted({(tuple(int(n) for n in version.split(".")), name) for version, name in found})


def complaints(path):
    """Why the file would not start on glibc 2.28 with nothing else; empty when it would."""
    out = [f"{path}: needs {name}" for name in needed(path) if name not in GLIBC_PARTS]
    out += [f"{path}: {name} needs glibc {'.'.join(map(str, version))}" for version, name in symbols(path)
            if version > NEWEST]
    if re.search(r"\b(RPATH|RUNPATH)\b", _objdump("-p", path)):
        out.append(f"{path}: has an RPATH")
    return out
