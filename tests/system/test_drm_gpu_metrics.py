"""Every version of amdgpu's gpu_metrics, field by field, against tables made without the program's layouts."""
import ctypes
import pathlib
import subprocess

import pytest

from drm_gpu_metrics import ALIASES, HEAD, TABLES, attribute_table, table


@pytest.fixture
def dump(program, tmp_path):
    """Decodes a table: (exit status, {"name[instance]": value}, text)."""

    def run(data):
        path = tmp_path / "gpu_metrics"
        path.write_bytes(data)
        tool = pathlib.Path(program).parent / "tests" / "gm_dump"
        done = subprocess.run([tool, path], capture_output=True, text=True, check=False)
        rows = {}
        if done.returncode == 0:
            rows = {k: float(v) for k, v in (line.split() for line in done.stdout.splitlines())}
        return done.returncode, rows, done.stdout.strip()

    return run


# sizeof() in the kernel, worked out by hand from its declarations.
SIZES = {"1.0": 80, "1.1": 96, "1.2": 104, "1.3": 120, "1.4": 288, "1.5": 360, "1.6e": 384, "1.6": 1664, "1.7": 2208,
         "1.8": 3872, "2.0": 120, "2.1": 120, "2.2": 128, "2.3": 152, "2.4": 168, "3.0": 264}


@pytest.mark.parametrize("version", TABLES)
def test_size(version):
    assert ctypes.sizeof(TABLES[version]) == SIZES[version]


@pytest.mark.parametrize("version", TABLES)
def test_every_field(dump, version):
    """Each field alone: the program gives that field, at that place, and nothing else."""
    kept = set()
    for name, kind in TABLES[version]._fields_[len(HEAD):]:
        if name == "xcp_stats":
            continue
        many = isinstance(kind, type) and issubclass(kind, ctypes.Array)
        count = kind._length_ if many else 1
        for i in range(count):
            value = 17 + i
            values = [2 ** (8 * ctypes.sizeof(kind._type_)) - 1] * count if many else value
            if many:
                values[i] = value
            status, rows, text = dump(table(version, **{name: values}))
            assert status == 0, text
            key = f"{ALIASES.get(name, name)}[{i}]"
            assert rows in ({key: value}, {}), name
            kept |= {name} if rows else set()
    # What the program shows, every version has in some form.
    assert kept & {"curr_socket_power", "average_socket_power"} and "average_gfx_activity" in kept
    assert kept & {"current_gfxclk", "average_gfxclk_frequency"}
    if version[0] == "1":
        assert {"energy_accumulator", "temperature_hotspot", "average_umc_activity", "pcie_link_width"} <= kept
    if version >= "1.4" and version[0] == "1":
        assert {"xgmi_read_data_acc", "xgmi_write_data_acc", "pcie_replay_count_acc"} <= kept


@pytest.mark.parametrize("version", ["1.6", "1.7", "1.8"])
def test_partitions(dump, version):
    _, rows, _ = dump(table(version, num_partition=3, xcp_stats=[[10, 20], [90], [0, 0, 60]]))
    assert rows == {"num_partition[0]": 3, "partition[0]": 15, "partition[1]": 90, "partition[2]": 20}


def test_largest_values(dump):
    """All ones less one is a value; all ones is not."""
    _, rows, _ = dump(table("1.3", energy_accumulator=2 ** 64 - 2, average_socket_power=0xFFFE))
    assert rows == {"energy_accumulator[0]": float(2 ** 64 - 2), "average_socket_power[0]": 0xFFFE}


@pytest.mark.parametrize("version", TABLES)
def test_cut_off(dump, version):
    whole = table(version)
    for n in (0, 1, 3, 4, len(whole) - 1):
        assert dump(whole[:n])[0::2] == (1, "it is shorter than it says")


@pytest.mark.parametrize("version", TABLES)
@pytest.mark.parametrize("off", [-8, 8])
def test_wrong_size(dump, version, off):
    data = table(version) + bytes(16)
    data = (len(data) - 16 + off).to_bytes(2, "little") + data[2:]
    assert dump(data)[0::2] == (1, "its size does not fit its version")


@pytest.mark.parametrize("format_, content", [(0, 0), (1, 10), (1, 255), (2, 5), (3, 1), (4, 0)])
def test_unknown_version(dump, format_, content):
    data = bytearray(table("1.3"))
    data[2:4] = format_, content
    assert dump(bytes(data))[0::2] == (1, "its version is not known")


def test_attributes(dump):
    data = attribute_table(temperature_hotspot=61, curr_socket_power=750, energy_accumulator=2 ** 40,
                           xgmi_read_data_acc=[5, 6, 7], current_gfxclk=[2100] * 8, num_partition=1)
    status, rows, _ = dump(data)
    assert status == 0
    assert rows["temperature_hotspot[0]"] == 61 and rows["curr_socket_power[0]"] == 750
    assert rows["energy_accumulator[0]"] == 2 ** 40 and rows["xgmi_read_data_acc[2]"] == 7
    assert rows["current_gfxclk[7]"] == 2100 and rows["num_partition[0]"] == 1


def test_attribute_twice(dump):
    """The last one counts, and nothing of the first is left."""
    one = attribute_table(current_gfxclk=[1, 2, 3])
    both = bytearray(one + attribute_table(current_gfxclk=9)[8:])
    both[0:2], both[4:8] = len(both).to_bytes(2, "little"), (2).to_bytes(4, "little")
    assert dump(bytes(both))[1] == {"current_gfxclk[0]": 9}


def test_attributes_that_lie(dump):
    """A count or a length beyond the table is refused."""
    data = bytearray(attribute_table(curr_socket_power=750))
    assert dump(bytes(data[:4]) + b"\xff\xff\xff\x7f" + bytes(data[8:]))[0] == 1
    long = bytearray(data)
    long[8:10] = (int.from_bytes(data[8:10], "little") | 0x3FF).to_bytes(2, "little")
    assert dump(bytes(long))[0] == 1
