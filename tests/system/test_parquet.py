"""Parquet: a reader that follows the format's own description, and where npm's registry answers another project's."""
import json
import math
import pathlib
import shutil
import sqlite3
import struct
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOUR = ROOT / "docs/example/tour.assay"


class Thrift:
    """The compact protocol: structs as dicts by field id."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def value(self, kind):
        if kind in (1, 2):
            return kind == 1
        if kind in (4, 5, 6):
            n = self.varint()
            return (n >> 1) ^ -(n & 1)
        if kind == 8:
            n = self.varint()
            self.at += n
            return bytes(self.data[self.at - n:self.at])
        if kind == 9:
            head = self.byte()
            return [self.value(head & 15) for _ in range(head >> 4 if head >> 4 < 15 else self.varint())]
        assert kind == 12, kind
        fields, last = {}, 0
        while True:
            head = self.byte()
            if head == 0:
                return fields
            assert head >> 4, "long field headers are not written"
            last += head >> 4
            fields[last] = self.value(head & 15)


def levels_of(data, rows):
    """Runs of the RLE and bit-packing hybrid, of one bit."""
    reader, found = Thrift(data), []
    while reader.at < len(data):
        head = reader.varint()
        assert head & 1 == 0 and head >> 1 > 0
        found += [reader.byte()] * (head >> 1)
    assert len(found) == rows and set(found) <= {0, 1}
    return found


def values_of(kind, data):
    if kind == 6:
        at = 0
        while at < len(data):
            n, = struct.unpack_from("<I", data, at)
            yield data[at + 4:at + 4 + n].decode()
            at += 4 + n
    else:
        yield from struct.unpack(f"<{len(data) // 8}{'d' if kind == 5 else 'q'}", data)


def read(path):
    """The columns of a file, None for what is missing; the units."""
    data = path.read_bytes()
    assert data[:4] == data[-4:] == b"PAR1"
    size, = struct.unpack("<I", data[-8:-4])
    foot = Thrift(data, len(data) - 8 - size)
    meta = foot.value(12)
    assert foot.at == len(data) - 8 and meta[1] == 1 and meta[6].startswith(b"assay ")
    root, *leaves = meta[2]
    assert root[5] == len(leaves)
    columns = {leaf[4].decode(): [] for leaf in leaves}
    end = 4
    for group in meta[4]:
        assert group[2] == sum(c[3][7] for c in group[1])
        for leaf, chunk in zip(leaves, group[1]):
            about = chunk[3]
            assert (about[1], about[3], about[4], about[5]) == (leaf[1], [leaf[4]], 0, group[3]) and about[9] == end, "chunks follow each other"
            page = Thrift(data, about[9])
            head = page.value(12)
            assert head[1] == 0 and head[5] == {1: group[3], 2: 0, 3: 3, 4: 3} and head[2] == head[3]
            n, = struct.unpack_from("<I", data, page.at)
            there = levels_of(data[page.at + 4:page.at + 4 + n], group[3])
            end = page.at + head[3]
            assert end == about[9] + about[7]
            found = list(values_of(leaf[1], data[page.at + 4 + n:end]))
            assert len(found) == sum(there)
            values = iter(found)
            columns[leaf[4].decode()] += [next(values) if has else None for has in there]
    assert end == len(data) - 8 - size and all(len(c) == meta[3] for c in columns.values())
    kinds = {leaf[4].decode(): (leaf[1], leaf[3], leaf.get(6), leaf.get(10)) for leaf in leaves}
    assert kinds["time"] == (2, 1, 10, {8: {1: True, 2: {2: {}}}}) and kinds["gpu"] == (6, 1, 0, {1: {}}) and kinds["power"] == (5, 1, None, None)
    pair, = meta[5]
    assert pair[1] == b"units"
    return columns, json.loads(pair[2])


@pytest.fixture
def converted(assay, tmp_path):
    path = tmp_path / "run.parquet"
    assert assay("convert", TOUR, path).returncode == 0
    return path


def test_all_values_are_the_recordings(converted):
    columns, units = read(converted)
    db = sqlite3.connect(TOUR)
    db.row_factory = sqlite3.Row
    rows = db.execute("select * from gpus order by tick, gpu").fetchall()
    assert len(rows) == len(columns["time"]) > 300
    known = set(rows[0].keys()) - {"tick", "time", "elapsed", "pcie_replay_rate"}  # a rate is taken anew
    for name in sorted(known & set(columns)):
        for own, row in zip(columns[name], rows):
            assert own == row[name] if isinstance(own, str) else (own is None) == (row[name] is None) and (own is None or math.isclose(own, row[name], rel_tol=1e-9, abs_tol={"fb_used_ratio": 1e-4, "real_util": 0.01}.get(name, 1e-12))), name
    assert len(known & set(columns)) > 50 and all(abs(t / 1e6 - r["time"]) < 1e-3 for t, r in zip(columns["time"], rows))
    assert units["power"] == "W" and units["sm_active"] == "ratio" and "time" not in units
    assert set(columns["limiter"]) >= {"compute.tensor", "host.starting"} and None not in columns["class"]


def test_several_groups(assay, tmp_path):
    """More rows than a group holds, of GPUs of which one has a value less."""
    source, path = tmp_path / "run.csv", tmp_path / "run.parquet"
    header, row = assay("export", "full", TOUR, "--count", "1").stdout.splitlines()
    stamp, gpu, *cells = row.split(",")
    power = header.split(",").index("power_w") - 2
    lines = [f"{1790000000 + i / 10:.2f},{g}," + ",".join("" if k == power and g == 1 else f"GPU-{g}" if c.startswith("GPU-") else c for k, c in enumerate(cells))
             for i in range(9000) for g in (0, 1)]
    source.write_text("\n".join([header, *lines]) + "\n")
    done = assay("convert", source, path)
    assert done.returncode == 0, done.stderr
    columns, _ = read(path)
    assert len(columns["time"]) == 18000 and columns["power"][1::2] == [None] * 9000 and None not in columns["power"][::2]
    assert columns["gpu"] == ["0", "1"] * 9000 and columns["time"] == sorted(columns["time"])


def test_another_projects_reader(converted, tmp_path):
    """hyparquet, which is JavaScript without dependencies."""
    if not shutil.which("npm"):
        pytest.skip("needs npm")
    try:
        subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "hyparquet@1.17.1"], cwd=tmp_path, capture_output=True, timeout=60, check=True)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        pytest.skip("npm's registry does not answer")
    (tmp_path / "read.mjs").write_text("""
import { asyncBufferFromFile, parquetReadObjects, parquetMetadataAsync } from 'hyparquet'
const file = await asyncBufferFromFile(process.argv[2])
const rows = await parquetReadObjects({ file })
console.log(JSON.stringify({ rows: Number((await parquetMetadataAsync(file)).num_rows), first: rows[5], powers: rows.map(r => r.power) }))
""")
    done = subprocess.run(["node", "read.mjs", converted], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    theirs, (ours, _) = json.loads(done.stdout), read(converted)
    assert theirs["rows"] == len(ours["time"]) and theirs["powers"] == ours["power"]
    assert theirs["first"]["gpu"] == "0" and theirs["first"]["time"].startswith("2026-11-15T12:01") and theirs["first"]["model"] == ours["model"][5]


def test_what_is_there_is_not_overwritten(assay, converted):
    done = assay("convert", TOUR, converted)
    assert done.returncode != 0 and "exists" in done.stderr.lower()


def test_it_is_named_where_a_name_says_nothing(assay, tmp_path):
    assert ".parquet" in assay("convert", TOUR, tmp_path / "x.abc").stderr
    assert assay("convert", TOUR, tmp_path / "x.abc", "--to", "parquet").returncode == 0
    read(tmp_path / "x.abc")


def test_export_says_who_writes_it(assay, tmp_path):
    for words in ([TOUR], []):
        done = assay("export", *words, tmp_path / "x.parquet")
        assert done.returncode == 2 and "standard output" in done.stderr and "assay convert" in done.stderr and not list(tmp_path.iterdir())
