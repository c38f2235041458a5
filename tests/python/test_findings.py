"""monitor.findings(), session.stretches(): typed, and the same as the program says."""
import dataclasses
import json
import re
import subprocess

import pytest

import assay
from assay import show

from .conftest import ROOT

TRUTH = ROOT / "tests" / "truth"


@pytest.fixture(scope="module")
def session():
    return assay.open_session(TRUTH / "gemm_bf16.assay")


def test_they_are_what_the_report_says(session, program):
    told = json.loads(subprocess.run([program, "report", str(session.path), "--format", "json"], check=True, capture_output=True).stdout)
    assert session.findings().to_dict() == told["findings"] and session.stretches().to_dict() == told["stretches"]


def test_they_are_typed(session):
    first = session.findings()[0]
    assert isinstance(first, assay.Finding) and first.limiter == "compute.tensor" and first.held_by == "power"
    assert first.gpus == ("0",) and first.gain > 1 and first.seconds > first.gpu_seconds > 0 and str(first) == f"{first.text}\ntry: {first.advice}"
    stretch = session.stretches()[first.stretch]
    assert isinstance(stretch, assay.Stretch) and stretch.limiter == first["limiter"] and stretch.seconds == pytest.approx(first.seconds)
    assert stretch.evidence["tensor"] == pytest.approx(0.93, abs=0.02) and stretch.flops is None
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.limiter = "host.code"
    with pytest.raises(KeyError):
        first["limit"]


def test_flops_of_a_declared_type(session):
    flops = session.stretches(flops="bf16")[session.findings()[0].stretch].flops
    assert isinstance(flops, assay.Flops) and flops.type == "bf16" and 5e14 < flops.lo < flops.hi <= 1.12 * flops.lo
    assert str(flops).endswith("TFLOP/s bf16") and "TFLOP/s bf16" in session.findings(flops="bf16")[0].text
    with pytest.raises(ValueError, match="bf17"):
        session.findings(flops="bf17")


def test_how_they_look(session):
    findings = session.findings()
    assert repr(findings).startswith("1 GPU 0 limited by the tensor cores") and "<li" in findings._repr_html_()
    assert "<table>" in findings.stretches._repr_html_() and "compute.tensor, clocks held by power" in repr(findings.stretches)
    assert findings[0].advice in session._repr_html_().replace("&#x27;", "'")
    assert "no findings" in assay.Findings()._repr_html_() and repr(assay.Findings()) == "no findings" and repr(assay.Stretches()) == "no stretches"


def test_markup_in_names_is_text(tmp_path):
    """Phases come from elsewhere."""
    finding = dataclasses.replace(assay.open_session(TRUTH / "gemm_bf16.assay").findings()[0], text="<script>")
    assert "<script>" not in assay.Findings([finding])._repr_html_()


def test_data_frames(session):
    pytest.importorskip("pandas")
    columns = session.columns("findings")
    assert columns["text"] == [f.text for f in session.findings()] and list(columns["gpu_seconds"]) == [f.gpu_seconds for f in session.findings()]
    assert len(session.columns("stretches")["limiter"]) == len(session.stretches())
    frame = session.findings().data()
    assert list(frame["limiter"])[0] == "compute.tensor" and frame["gpus"][0] == "0"
    frame = session.stretches(flops="bf16").data()
    assert {"begin_s", "limiter", "flops.lo", "flops.hi", "evidence.tensor"} <= set(frame.columns) and len(frame) == len(session.stretches())


def test_a_monitor_while_it_runs_and_afterwards(gpu):
    with assay.Monitor(interval=0.1, flops="bf16", **gpu) as monitor:
        assert monitor.wait(5)
        assert isinstance(monitor.findings(), assay.Findings)
        for moment in monitor.frames(timeout=5):
            if moment["tick"] > 5:
                break
        assert moment["gpus"][0]["flops"]["type"] == "bf16"
    assert monitor.findings()[0].limiter == moment["gpus"][0]["limiter"] == "compute.tensor"
    monitor.close()
    with pytest.raises(RuntimeError):
        monitor.findings()


def test_they_look_as_on_the_page(session):
    """The colours are those of the page's style, light and dark, and a finding has the side that the page gives its limiter."""
    document = ROOT / "src/present/document"
    for names, css in ((show._LIGHT, "page.css"), (show._DARK, "dark.css")):
        assert [c for c in names.split(";") if not re.search(rf"{re.escape(c)}[;}}]", (document / css).read_text())] == []
    for name in ("gemm_bf16", "loader_workers", "never_used", "small_copies", "hash_int", "batch1_convnet", "scatter_add", "sleeping_steps"):
        run = assay.open_session(TRUTH / f"{name}.assay")
        on_page = re.findall(r"<li class=side-(\w+)>", run.report("html"))
        here = re.findall(r"--side:var\(--side-(\w+)\)", run.findings()._repr_html_())
        assert here and here[:len(on_page)] == on_page, name


def test_objects_show_themselves(session, tmp_path):
    summary = assay.build_resource_summary()
    for thing in (session, session.findings(), session.findings()[0], session.stretches(), session.report(), summary):
        assert "<div class=assay>" in thing._repr_html_() and thing._repr_html_().count("<style>") == 1
    assert "peak_vram_mb" in summary._repr_html_()


def test_the_names_are_the_public_ones():
    assert dir(assay) == sorted(assay.__all__) and all(hasattr(assay, name) for name in dir(assay))
