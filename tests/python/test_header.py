"""include/assay/assay.h names formats, tables, options and keys: the library knows each, and says so of no other."""
import ctypes
import json
import os
import re
from ctypes import c_char_p, c_void_p

import pytest
from assay import _lib
from assay.errors import AssayError

from .conftest import BUILD, ROOT

HEADER = (ROOT / "include/assay/assay.h").read_text()
TOUR = str(ROOT / "docs/example/tour.assay").encode()


def comment(where):
    """The words of the comment that says so."""
    found = [c for c in re.findall(r"/\*(.*?)\*/", HEADER, re.S) if where in c]
    assert len(found) == 1, where
    return re.sub(r"\s*\n \*\s*|\s+", " ", found[0])


def named(where, lead, end=r"[.;]"):
    """The list after a word, without what stands in brackets."""
    text = re.sub(r" \([^)]*\)", "", re.sub(r"\([^()]*\)", "", comment(where)))
    listed = re.search(rf"{lead}:? (.*?){end}", text).group(1)
    return [w.strip() for w in re.split(r", and |, or | and | or |, ", listed) if w not in ("others", "…", "those of the sources")]


def report(format_, **options):
    with _lib.Options(options) as handle:
        return _lib.text_of(_lib.lib().assay_file_report, TOUR, format_.encode(), handle)


def diff(format_, **options):
    side = (c_char_p * 1)(TOUR)
    with _lib.Options(options) as handle:
        return _lib.text_of(_lib.lib().assay_diff, side, 1, side, 1, format_.encode(), handle)


@pytest.mark.parametrize("call, where, known", [
    (report, "text, json, html, csv, markdown, resource-summary or scalars", 7), (diff, "json, markdown, html or junit", 5)], ids=["report", "diff"])
def test_formats(call, where, known):
    """Each that is named is written, and the library names the same ones for another."""
    formats = named(where, "format", r"\. Options")
    assert len(formats) == known
    assert len({call(f) for f in formats}) == known
    with pytest.raises(AssayError) as caught:
        call("xml")
    assert caught.value.code == -10001 and re.findall(r"[\w-]+", caught.value.hint.replace("choose", "").replace(" or ", " ")) == formats


LISTS = [("Of a recorded run. Options", 5), ("text, json, html, csv, markdown, resource-summary or scalars", 9), ("The format is what out ends in", 4),
         ("a notebook's folder or zip", 1), ("json, markdown, html or junit", 3), ("Columns of a recorded run.", 3)]


@pytest.mark.parametrize("where, least", LISTS, ids=[w for w, _ in LISTS])
def test_options_of_a_function(where, least):
    """They are options, and others are not."""
    names = named(where, "Options?:")
    assert len(names) >= least, names
    values = {"level": "process", "gpus": "0", "weights": "ai", "flops": "bf16", "missing": "zero", "phase": "idle", "metrics": "power",
              "last": "5", "to": "csv", "gate": "time=5%", "allow": "gpus"}
    for name in names:
        with _lib.Options({name: values.get(name, "0.5")}):
            pass
    with pytest.raises(AssayError), _lib.Options({"no-such-thing": "1"}):
        pass


def test_options_of_a_monitor(tmp_path, gpu):
    """One that is given all of them runs; a word in quotes is a value."""
    names = named("A monitor that does not run yet", "Options are copied", r"\. NULL only")
    given = {"backend": "nvml", "source": None, "interval": "0.1", "gpus": "0", "show-all": "yes", "levels": "none", "pid": str(os.getpid()), "history": "5",
             "output": str(tmp_path / "x.assay"), "durable": "no", "hardware-monitor": str(tmp_path / "hw"), "nvml-lib": gpu["nvml_lib"]}
    assert set(names) == set(given) - {"nvml-lib"}
    with _lib.Options(given) as handle:
        monitor = _lib.lib().assay_monitor_new(handle)
    try:
        _lib.call(_lib.lib().assay_monitor_start, monitor)
        _lib.call(_lib.lib().assay_monitor_wait, monitor, 0, 5.0)
        told = _lib.object_of(_lib.lib().assay_monitor_describe, monitor)
        assert told["levels"] == [] and told["provenance"] == "nvml+gpm"
        assert [k for k in named("What is watched, as JSON", "as JSON") if k not in told] == []
    finally:
        _lib.lib().assay_monitor_free(monitor)


def test_settings_in_quotes():
    pairs = re.findall(r'"([\w-]+)" "([^"]+)"', comment("Names and values as the program's flags"))
    assert len(pairs) == 3
    for name, value in pairs:
        with _lib.Options({name: value}):
            pass


def test_tables():
    """Each that is named has columns; of those of a notebook "and so on" stands for the levels."""
    words = re.findall(r'"([^"]+)"', comment("Columns of a recorded run."))
    levels = ["process", "user", "slurm", "cgroup", "system"]
    assert words == ["gpus", *levels, "phases", "events", "user_metrics", "stacks", "notebook:process"]
    library = _lib.lib()
    for what in [*words, *(f"notebook:{level}" for level in levels)]:
        table = c_void_p()
        if "slurm" in what:
            with pytest.raises(AssayError, match="the level 'slurm' was not recorded"):
                _lib.call(library.assay_table_open, TOUR, what.encode(), None, ctypes.byref(table))
            continue
        _lib.call(library.assay_table_open, TOUR, what.encode(), None, ctypes.byref(table))
        assert library.assay_table_columns(table) > 1, what
        library.assay_table_free(table)
    with pytest.raises(AssayError):
        _lib.call(library.assay_table_open, TOUR, b"no such", None, ctypes.byref(c_void_p()))


def test_keys_of_descriptions_and_findings():
    told = _lib.object_of(_lib.lib().assay_file_describe, TOUR)
    assert [k for k in named("What is watched, as JSON", "as JSON") if k not in told] == []
    findings = c_void_p()
    _lib.call(_lib.lib().assay_file_findings, TOUR, None, ctypes.byref(findings))
    whole = json.loads(report("json"))
    try:
        members = _lib.object_of(_lib.lib().assay_findings_json, findings)
    finally:
        _lib.lib().assay_findings_free(findings)
    assert list(members) == named("Members schema", "Members", " as `assay")
    assert members["findings"] == whole["findings"] and members["stretches"] == whole["stretches"]


def test_endings_of_plots(tmp_path):
    endings = re.findall(r"\.(?:svg|png|pdf|jpg)", comment("The format is what out ends in"))
    assert len(endings) == 4
    heads = {".svg": b"<svg", ".png": b"\x89PNG", ".pdf": b"%PDF", ".jpg": b"\xff\xd8\xff"}
    features = (BUILD / "build_features.h").read_text()
    for ending in endings:
        needs = {".svg": "", ".jpg": "FEATURE_JPEG"}.get(ending, "FEATURE_CAIRO")
        if needs and f"{needs} 1" not in features:
            continue
        out = tmp_path / f"plot{ending}"
        _lib.call(_lib.lib().assay_file_plot, TOUR, str(out).encode(), None)
        assert out.read_bytes().startswith(heads[ending]), ending


ASKS = """
import ctypes, json, sys
from assay import _lib
library = _lib.lib()
library._found.assay_frame_provenance.restype = ctypes.c_char_p
library._found.assay_frame_provenance.argtypes = [ctypes.c_void_p]
with _lib.Options({"interval": "0.1", **json.loads(sys.argv[1])}) as handle:
    monitor = library.assay_monitor_new(handle)
_lib.call(library.assay_monitor_start, monitor)
_lib.call(library.assay_monitor_wait, monitor, 0, 5.0)
frame = ctypes.c_void_p()
assert _lib.call(library.assay_monitor_latest, monitor, ctypes.byref(frame)) == 1
print(library._found.assay_frame_provenance(frame).decode())
library.assay_frame_unref(frame)
library.assay_monitor_free(monitor)
"""


def test_provenance(tmp_path, gpu, python):
    """The sources that the header names: NVML with counters and without, DCGM, and no GPU."""
    words = re.findall(r'"([^"]*)"', comment("Which source"))
    assert words == ["nvml+gpm", "nvml", "dcgm", ""]
    full, plain = ROOT / "tests/fixtures/nvml/h200-bf16.scn", tmp_path / "plain.scn"
    plain.write_text(full.read_text().replace("nvmlGpmQueryDeviceSupport = 0 1", "nvmlGpmQueryDeviceSupport = 0 0"))
    (tmp_path / "proc").symlink_to("/proc")  # and no card in /sys
    asked = [(gpu, full), (gpu, plain), ({"backend": "dcgm", "dcgmi": str(ROOT / "tests/fakes/dcgmi")}, full),
             ({"nvml-lib": "/no/such.so", "dcgmi": "/no/such", "root": str(tmp_path), "levels": "system"}, full)]
    for (options, scenario), word in zip(asked, words):
        done = python(ASKS, json.dumps(options), FAKE_NVML=str(scenario), FAKE_DCGMI="{}")
        assert (done.returncode, done.stdout) == (0, word + "\n"), (options, done.stderr)
