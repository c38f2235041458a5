"""Notebooks in other languages: a kernel that is started under `assay run`, which records it from outside."""
from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any, Dict, List, Tuple

from .errors import E_USAGE, AssayError


def _manager() -> Any:
    try:
        from jupyter_client.kernelspec import KernelSpecManager
    except ImportError as error:
        raise AssayError(E_USAGE, f"kernels are listed with jupyter_client: {error}", "install jupyter_client") from None
    make: Any = KernelSpecManager
    return make()


def listed() -> List[Tuple[str, str, str]]:
    """(name, title, language) of the kernels that are installed."""
    found = _manager().get_all_specs()
    return sorted((name, str(k["spec"].get("display_name", "")), str(k["spec"].get("language", ""))) for name, k in found.items())


def _wrapped(spec: Dict[str, Any], program: str) -> Dict[str, Any]:
    return {**spec, "argv": [program, "run", "--quiet", "--", *spec["argv"]], "display_name": f"{spec['display_name']} (assay)"}


def wrap(name: str, save: str = "") -> str:
    """Installs a kernel that runs another one under `assay run`; its name. Each time it is started it records a session in
    the notebook's folder, which `assay report` and %assay import read."""
    manager = _manager()
    known = manager.get_all_specs()
    if name not in known:
        raise AssayError(E_USAGE, f"there is no kernel '{name}'", f"there are: {', '.join(sorted(known))}")
    program = shutil.which("assay")
    if not program:
        raise AssayError(E_USAGE, "the program 'assay' is not on the PATH", "install it (meson install -C build)")
    spec = known[name]["spec"]
    if spec["argv"][1:2] == ["run"] and Path(spec["argv"][0]).name == "assay":
        raise AssayError(E_USAGE, f"the kernel '{name}' records already", "choose another")
    made = save or f"assay-{name}"
    with tempfile.TemporaryDirectory(prefix="assay-kernel-") as folder:
        # Its logos and scripts come along.
        target = Path(folder) / "spec"
        shutil.copytree(known[name]["resource_dir"], target)
        (target / "kernel.json").write_text(json.dumps(_wrapped(spec, program), indent=1), encoding="utf-8")
        manager.install_kernel_spec(str(target), made, user=True)
    return made
