"""Builds the package with nothing but Python: `pip install ./python` needs neither the net nor setuptools."""
from __future__ import annotations

import base64
import hashlib
import io
import os
import re
import tarfile
import time
import zipfile
from pathlib import Path
from typing import Any, Dict, Optional

HERE = Path(__file__).resolve().parent
VERSION = re.search(r'^__version__ = "(.+)"$', (HERE / "assay/__init__.py").read_text(), re.M)[1]  # type: ignore[index]
NAME = f"assay-{VERSION}"

METADATA = f"""\
Metadata-Version: 2.1
Name: assay
Version: {VERSION}
Summary: What the GPUs, and the job around them, are really doing
License: MIT
Keywords: gpu,monitoring,nvml,utilization,performance
Classifier: License :: OSI Approved :: MIT License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: System :: Monitoring
Classifier: Typing :: Typed
Requires-Python: >=3.9
Description-Content-Type: text/markdown

{(HERE / "README.md").read_text()}"""

PURE = "py3-none-any"
# 1980 is the first year a zip file knows.
MOMENT = max(int(os.environ.get("SOURCE_DATE_EPOCH") or time.time()), 315532800)


def _wheel(tag: str) -> bytes:
    pure = "true" if tag == PURE else "false"
    return f"Wheel-Version: 1.0\nGenerator: assay ({VERSION})\nRoot-Is-Purelib: {pure}\nTag: {tag}\n".encode()


def _package() -> Dict[str, bytes]:
    return {f"assay/{p.name}": p.read_bytes() for p in sorted((HERE / "assay").iterdir())
            if p.suffix == ".py" or p.name == "py.typed"}


def _line(name: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
    return f"{name},sha256={digest},{len(data)}\n"


def _write_wheel(folder: str, files: Dict[str, bytes], tag: str = PURE) -> str:
    info = f"{NAME}.dist-info"
    files = {**files, f"{info}/METADATA": METADATA.encode(), f"{info}/WHEEL": _wheel(tag)}
    record = "".join(_line(name, data) for name, data in files.items()) + f"{info}/RECORD,,\n"
    target = f"{NAME}-{tag}.whl"
    with zipfile.ZipFile(Path(folder) / target, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in {**files, f"{info}/RECORD": record.encode()}.items():
            entry = zipfile.ZipInfo(name, time.gmtime(MOMENT)[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix: the mode below is meant
            entry.external_attr = (0o100755 if data.startswith(b"\x7fELF") else 0o100644) << 16
            wheel.writestr(entry, data)
    return target


def write_binary_wheel(folder: str, more: Dict[str, bytes], notes: Dict[str, bytes], tag: str) -> str:
    """The package with files of a build, by their names in the wheel, and with notices."""
    notices = {f"{NAME}.dist-info/licenses/{name}": data for name, data in notes.items()}
    return _write_wheel(folder, {**_package(), **more, **notices}, tag)


# What pip calls (PEP 517 and 660).

def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: Optional[str] = None) -> str:
    return _write_wheel(wheel_directory, _package())


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: Optional[str] = None) -> str:
    return _write_wheel(wheel_directory, {"assay.pth": f"{HERE}\n".encode()})


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    own = {name: (HERE / name).read_bytes() for name in ("backend.py", "pyproject.toml", "README.md")}
    with tarfile.open(Path(sdist_directory) / f"{NAME}.tar.gz", "w:gz") as archive:
        for name, data in {**_package(), **own, "PKG-INFO": METADATA.encode()}.items():
            entry = tarfile.TarInfo(f"{NAME}/{name}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return f"{NAME}.tar.gz"
