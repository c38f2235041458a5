"""assay publish: event files are read record by record as TensorBoard's format says, and lines of JSON."""
import json
import pathlib
import shutil
import sqlite3
import struct

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOUR = ROOT / "docs/example/tour.assay"


def crc32c(data):
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
        table.append(i)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def fields(data):
    """A protocol buffer's: {number: [values]}."""
    found, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            value |= (data[at] & 0x7F) << shift
            shift, at = shift + 7, at + 1
            if data[at - 1] < 0x80:
                return value
    while at < len(data):
        key = varint()
        if key & 7 == 0:
            value = varint()
        elif key & 7 == 2:
            n = varint()
            value = data[at:at + n]
            at += n
        else:
            n = 8 if key & 7 == 1 else 4
            value, = struct.unpack("<d" if n == 8 else "<f", data[at:at + n])
            at += n
        found.setdefault(key >> 3, []).append(value)
    assert at == len(data)
    return found


def events(path):
    """(wall time, step, tag, value) of a file; checksums are right, and the first record is the version."""
    data, at, found = path.read_bytes(), 0, []
    while at < len(data):
        head = data[at:at + 8]
        n, = struct.unpack("<Q", head)
        assert struct.unpack("<I", data[at + 8:at + 12]) == (masked(head),)
        body = data[at + 12:at + 12 + n]
        assert struct.unpack("<I", data[at + 12 + n:at + 16 + n]) == (masked(body),)
        at += 16 + n
        event = fields(body)
        if at == 16 + n:
            assert event[3] == [b"brain.Event:2"]
            continue
        value = fields(fields(event[5][0])[1][0])
        if 8 in value:
            tensor = fields(value[8][0])
            assert tensor[1] == [7] and fields(fields(tensor[2][0])[2][0])[1] == [1] and fields(fields(value[9][0])[1][0])[1] == [b"text"]
            what = tensor[8][0].decode()
        else:
            what = value[2][0]
        found.append((event[1][0], event.get(2, [0])[0], value[1][0].decode(), what))
    return found


@pytest.fixture
def marked(tmp_path):
    path = tmp_path / "run.assay"
    shutil.copy(TOUR, path)
    db = sqlite3.connect(path)
    start = db.execute("select value from manifest where key = 'start_ns'").fetchone()[0]
    put = "insert into mark(wall_ns, mono_ns, host, pid, type, name, seconds, value) values(?, 0, 'h', 7, ?, ?, ?, ?)"
    for i in range(20):
        db.execute(put, (start + (i + 2) * 10**9, "step", "step", 0.75, 0.25))
    db.execute(put, (start + 10 * 10**9, "metric", "loss", None, 0.5))
    db.commit()
    db.close()
    return path


def test_tensorboard(assay, marked, tmp_path):
    folder = tmp_path / "runs"
    done = assay("publish", marked, f"tensorboard:{folder}")
    assert done.returncode == 0 and done.stdout == "", done.stderr
    file, = folder.iterdir()
    assert file.name.startswith("events.out.tfevents.")
    found = events(file)
    tags = {tag for _, _, tag, _ in found}
    assert tags >= {"assay/gpu/power", "assay/gpu/real_util", "assay/energy_kwh", "assay/wasted_gpu_hours", "assay/limiter/host.waiting", "assay/findings", "loss", "assay/step/seconds"}
    power = [(step, v) for _, step, tag, v in found if tag == "assay/gpu/power"]
    assert len(power) > 300 and all(50 < v < 800 for _, v in power) and [s for s, _ in power] == sorted(s for s, _ in power)
    assert [(s, v) for _, s, tag, v in found if tag == "assay/step/seconds"] == [(i, 0.75) for i in range(20)]
    text, = [v for _, _, tag, v in found if tag == "assay/findings"]
    assert "GPU 0" in text and "try: " in text
    once = dict((tag, v) for _, _, tag, v in found)
    assert sum(v for tag, v in once.items() if tag.startswith("assay/limiter/")) == pytest.approx(1, abs=1e-3) and once["loss"] == 0.5


def test_the_place_as_an_option(assay, marked, tmp_path):
    """--to says the same as the second word, and is checked as a choice."""
    lines, option = tmp_path / "word.jsonl", tmp_path / "option.jsonl"
    assert assay("publish", marked, f"jsonl:{lines}").returncode == 0
    assert assay("publish", marked, "--to", f"jsonl:{option}").returncode == 0
    assert lines.read_text() == option.read_text() != ""
    assert assay("publish", marked, "--to", f"tensorboard:{tmp_path / 'runs'}").returncode == 0
    assert len(events(next((tmp_path / "runs").iterdir()))) > 300


def test_lines(assay, marked, tmp_path):
    file = tmp_path / "runs.jsonl"
    for _ in range(2):
        assert assay("publish", marked, f"jsonl:{file}").returncode == 0
    first, second = map(json.loads, file.read_text().splitlines())
    report = json.loads(assay("report", marked, "--format", "json").stdout)
    assert first == second and first["assay/findings"][0] == report["findings"][0]["text"]
    gpu = report["run"]["gpus"][0]
    assert first["assay/energy_kwh"] == pytest.approx(gpu["energy_kwh"]) and first["assay/steps"] == 20 and first["assay/waited_for_data"] == pytest.approx(1 / 3)
    assert first["assay/step_p50"] == 0.75


@pytest.mark.parametrize("words, what", [
    ([], "publish needs one recording"), ([TOUR], "publish needs one recording"), ([TOUR, "jsonl:x", "--to", "jsonl:y"], "one place"),
    ([TOUR, "--to", "jsonl:"], "--to: unknown value 'jsonl:'"), ([TOUR, "--to", "csv"], "tensorboard:FOLDER|jsonl:FILE"), ([TOUR, "wandb:x"], "'wandb:x' does not say where to publish"),
    ([TOUR, "jsonl:"], "does not say where"), (["gone.assay", "jsonl:x"], "gone.assay")])
def test_mistakes(assay, words, what):
    done = assay("publish", *words)
    assert done.returncode != 0 and what in done.stderr


def test_a_recording_is_not_written_over(assay, marked, tmp_path):
    copy = tmp_path / "other.assay"
    shutil.copy(marked, copy)
    before = copy.read_bytes()
    for target in (f"jsonl:{marked}", f"jsonl:{copy}"):
        assert assay("publish", marked, target).returncode != 0
    assert copy.read_bytes() == before


def test_the_checksum_is_the_known_one():
    assert crc32c(b"123456789") == 0xE3069283
