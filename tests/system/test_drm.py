"""The drm source over machines laid out as the kernel documents them. Expected values are worked out by hand from
the trees in tests/fixtures/drm."""
import json
import os
import shutil
import signal
import subprocess
import time

import pytest

from drm_gpu_metrics import attribute_table, table
from drm_tree import Tree, fdinfo, mi300x_node

GIB = 1 << 30
NAVI = "0000:03:00.0"


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path / "root").add("names")


@pytest.fixture
def once(assay, tree):
    """The GPUs of one frame, as JSON; stderr is kept beside."""

    def run(*args, **kwargs):
        done = assay("once", "--backend", "drm", "--root", tree.root, "--json", *args, **kwargs)
        assert done.returncode == 0, done.stderr
        run.stderr = done.stderr
        return json.loads(done.stdout)["gpus"]

    return run


def check(row, expected):
    """Every metric named has that value; None is missing."""
    for name, value in expected.items():
        got = row["metrics"][name]
        assert got == (None if value is None else pytest.approx(value, rel=1e-9)), name


def stream(program, tree, ticks, poll=0.2, before_tick=None):
    """Rows of several ticks; before_tick(n) changes the machine between them."""
    command = [program, "export", "--backend", "drm", "--root", str(tree.root), "--format", "jsonl", "--poll",
               str(poll), "--count", str(ticks)]
    rows = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        while len(rows) < ticks:
            line = child.stdout.readline()
            assert line, "the program ended early"
            rows.append(json.loads(line))
            if before_tick and len(rows) < ticks:
                before_tick(len(rows))
    return rows


# One machine each


def test_rx7900(once, tree):
    tree.add("rx7900")
    row, = once()
    assert row["identity"] == {"model": "AMD Radeon RX 7900 XTX", "uuid": "GPU-5f3c1a2b9e8d7c60", "pci": NAVI,
                               "driver": "amdgpu", "device": "renderD129", "numa_node": "0"}
    check(row, {
        "gpu_util": 0.87, "mem_copy_util": 0.35, "fb_used": 8 * GIB, "fb_total": 25753026560, "gtt_used": 104857600,
        "gtt_total": 33554432000, "power": 287, "power_limit": 355, "gpu_temp": 58, "hotspot_temp": 74, "mem_temp": 80,
        "temp_slowdown": 100, "temp_shutdown": 105, "sm_clock": 2410e6, "sm_clock_max": 2995e6, "mem_clock": 1249e6,
        "mem_clock_max": 1249e6, "pcie_replay": 4, "asleep": 0, "processes": 0,
        # The board's upstream port, not the GPU's own: generation 3 of 4, 8 lanes of 16.
        "pcie_gen": 3, "pcie_gen_max": 4, "pcie_width": 8, "pcie_width_max": 16,
        # PPT is a power cap (0x4); that the hotspot is too hot is not true at 74 of 110 °C.
        "throttle_reasons": 0x4,
        # What this GPU or driver does not have.
        "energy": None, "sm_active": None, "tensor_active": None, "dram_active": None, "pcie_rx": None,
        "ecc_dbe_volatile": None, "real_util": None, "lost": None, "nvlink_rx": None})
    assert row["missing"]["energy"] == "unsupported" and row["missing"]["ecc_dbe_volatile"] == "unsupported"
    assert row["verdict"]["class"] == "unknown" and "sm_active" in row["verdict"]["missing"]
    assert row["health"]["state"] == "WARN"
    assert len(row["health"]["findings"]) == 1  # the link


def test_hotspot(once, tree):
    """Near its limit the hotspot is believed to hold the clocks down; where no limit is told it is not."""
    tree.add("rx7900")
    tree.file(NAVI, "hwmon/hwmon4/temp2_input").write_text("101000\n")
    row, = once()
    assert row["metrics"]["throttle_reasons"] == 0x24 and len(row["health"]["findings"]) == 2
    tree.file(NAVI, "hwmon/hwmon4/temp2_crit").unlink()
    assert once()[0]["metrics"]["throttle_reasons"] == 0x4


def test_energy_of_unknown_unit(once, tree):
    """What consumer GPUs count in is not documented."""
    tree.add("rx7900")
    tree.file(NAVI, "gpu_metrics").write_bytes(table("1.3", energy_accumulator=65536000, average_socket_power=287))
    assert once()[0]["missing"]["energy"] == "unsupported"
    tree.file(NAVI, "class").write_text("0x038000\n")  # in a laptop, where another GPU has the screen
    assert once()[0]["missing"]["energy"] == "unsupported"
    tree.file(NAVI, "gpu_metrics").write_bytes(table("1.3", energy_accumulator=0, average_socket_power=0))
    tree.file(NAVI, "hwmon/hwmon4/power1_average").write_text("0\n")
    check(once()[0], {"power": 0})


def test_mi250x(once, tree):
    """The first GPU of the board has the sensor: 131072000 × 2^-16 J. The other has zeros, which are not values."""
    tree.add("mi250x")
    check(once()[0], {"power": 430, "energy": 2000, "power_limit": 560, "hotspot_temp": 57, "throttle_reasons": None})
    tree.file("0000:c1:00.0", "hwmon/hwmon2/power1_average").write_text("0\n")
    tree.file("0000:c1:00.0", "gpu_metrics").write_bytes(table("1.3", average_socket_power=0, energy_accumulator=0,
                                                               average_gfx_activity=97))
    row, = once()
    check(row, {"power": None, "energy": None, "gpu_util": 0.97})
    assert row["missing"]["power"] == "unsupported"


def test_vega20(once, tree):
    tree.add("vega20")
    row, = once()
    assert row["identity"]["model"] == "AMD Radeon VII" and "uuid" not in row["identity"]
    check(row, {
        "gpu_util": 0.12, "mem_copy_util": 0.03, "fb_used": GIB, "fb_total": 17163091968, "gtt_used": 0, "power": 31,
        "power_limit": 250, "energy": None, "gpu_temp": 41, "hotspot_temp": 43, "mem_temp": 47, "sm_clock": 809e6,
        "sm_clock_max": 1802e6, "mem_clock": 351e6, "mem_clock_max": 1001e6, "pcie_gen": 4, "pcie_width": 16,
        "ecc_sbe_volatile": 2, "ecc_dbe_volatile": 0, "retired_dbe": 2, "retired_pending": 1,
        # throttle_status of table 1.0 has another meaning on each GPU.
        "throttle_reasons": None, "temp_slowdown": None})
    assert row["health"]["state"] == "OK"


def test_apu(once, tree):
    tree.add("vangogh")
    row, = once()
    assert row["identity"]["model"] == "AMD Custom GPU 0405"
    check(row, {
        "gpu_util": 0.64, "mem_copy_util": None, "fb_used": GIB / 2, "fb_total": GIB, "gtt_used": 2 * GIB,
        "gtt_total": 8053063680, "power": 11, "power_limit": 15, "gpu_temp": 66, "mem_temp": None, "hotspot_temp": None,
        "sm_clock": 1100e6, "sm_clock_max": 1600e6, "mem_clock": 800e6, "throttle_reasons": 0x4, "pcie_gen": None,
        "pcie_width": None, "energy": None})


def test_same_reason_once(assay, tree):
    """Eight GPUs that are unknown for one reason say so in one line."""
    mi300x_node(tree)
    text = assay("once", "--backend", "drm", "--root", tree.root).stdout
    assert text.count("unknown: missing") == 1 and "\n0-7    unknown: missing" in text


def test_same_reason_of_partitions(assay, tree):
    """A label stands for GPUs or for the parts of one; groups without a metric have no heading."""
    mi300x_node(tree, count=2, mode="CPX", partitions=8, xcp="50;40;30;20;10;90;90;90")
    text = assay("once", "--backend", "drm", "--root", tree.root, "--focus-gpu", "1/2").stdout
    assert [line.split()[0] for line in text.splitlines() if "unknown: missing" in line] == ["0", "0/0-7", "1", "1/0-7"]
    assert "\nutilization\n  gpu_util                       30.0 %\n" in text and "\npipes\n" not in text


def test_mi300x_node(once, tree):
    mi300x_node(tree)
    rows = once()
    assert [r["gpu"] for r in rows] == list("01234567")
    assert [r["identity"]["pci"] for r in rows] == [f"0000:{0x15 + 16 * i:02x}:00.0" for i in range(8)]
    for i, row in enumerate(rows):
        assert row["identity"]["model"] == "AMD Instinct MI300X OAM"
        assert row["identity"]["serial"] == f"692251001{i}" and row["identity"]["mig_profile"] == "SPX/NPS1"
        check(row, {
            "gpu_util": 0.5, "mem_copy_util": 0.41, "fb_used": GIB * (i + 1), "fb_total": 206141652992, "power": 612,
            "power_limit": 750, "energy": 1000, "gpu_temp": 55, "hotspot_temp": 55, "mem_temp": 49,
            "temp_slowdown": 100, "sm_clock": 2094e6, "sm_clock_max": 2100e6, "mem_clock": 1300e6, "pcie_gen": 5,
            "pcie_width": 16, "pcie_replay": 0, "ecc_dbe_volatile": 0, "retired_dbe": 0, "nvlink_rx": 0,
            "nvlink_tx": 0, "nvlink_total": 0, "throttle_reasons": 0})


@pytest.mark.slow
def test_divided_anew(program, tree):
    """The mode is read again every few seconds."""
    mi300x_node(tree, 1)
    rows = stream(program, tree, 8, poll=1, before_tick=lambda n: n == 1 and tree.file(
        "0000:15:00.0", "current_compute_partition").write_text("DPX\n"))
    assert rows[0]["identity"]["mig_profile"] == "SPX/NPS1" and rows[-1]["identity"]["mig_profile"] == "DPX/NPS1"


def test_mi300x_partitioned(once, tree):
    """CPX: eight partitions a GPU; their platform devices are not GPUs of their own."""
    mi300x_node(tree, 2, "CPX", 8, "10;20;30;40;50;60;70;80")
    rows = once()
    assert [r["gpu"] for r in rows] == [f"{g}{p}" for g in "01" for p in ["", *[f"/{i}" for i in range(8)]]]
    assert [r["metrics"]["gpu_util"] for r in rows[1:9]] == pytest.approx([0.1 * (i + 1) for i in range(8)])
    assert rows[1]["identity"]["mig_profile"] == "CPX/NPS1" and rows[1]["metrics"]["power"] is None
    assert rows[0]["metrics"]["power"] == 612


def test_arc(once, tree):
    tree.add("arc")
    row, = once()
    assert row["identity"]["model"] == "Intel Arc A770" and row["identity"]["driver"] == "xe"
    check(row, {
        "sm_clock": 2050e6, "sm_clock_max": 2400e6, "power_limit": 190, "energy": 5000, "power": 0, "gpu_temp": 63,
        "mem_temp": 70, "fb_total": 16 * GIB, "throttle_reasons": 0x4, "pcie_gen": 4, "pcie_width": 16,
        "gpu_util": 0, "processes": 0, "mem_copy_util": None})
    # Nothing ran, nobody holds it, no power: idle without counters.
    assert row["verdict"]["class"] == "idle" and row["verdict"]["without_counters"]


@pytest.mark.parametrize("reason, bits", [
    ("pl2", 0x4), ("psys_pl1", 0x4), ("prochot", 0x40), ("thermal", 0x20), ("ratl", 0x20), ("soc_thermal", 0x20),
    ("mem_thermal", 0x20), ("vr_thermal", 0x20), ("iccmax", 0x8)])
def test_why_intel_holds_clocks_down(once, tree, reason, bits):
    """Newer GPUs have other files than older ones; RATL is a running average of the temperature."""
    tree.add("arc")
    tree.file(NAVI, "tile0/gt0/freq0/throttle/reason_pl1").write_text("0\n")
    tree.file(NAVI, f"tile0/gt0/freq0/throttle/reason_{reason}").write_text("1\n")
    check(once()[0], {"throttle_reasons": bits})


def test_tigerlake(once, tree):
    tree.add("tigerlake")
    row, = once()
    assert row["identity"]["model"] == "Intel Iris Xe Graphics" and "numa_node" not in row["identity"]
    check(row, {"sm_clock": 1100e6, "sm_clock_max": 1350e6, "throttle_reasons": 0, "power": None, "gpu_temp": None,
                "fb_total": None, "pcie_gen": None, "gpu_util": 0, "processes": 0})
    # Without counters idle takes low power too, and it has no sensor.
    assert row["verdict"]["class"] == "unknown"


def test_old_i915_clocks(once, tree):
    """Before there was a folder for each GT, the clocks stood beside the card."""
    tree.add("tigerlake")
    card = tree.file("0000:00:02.0", "drm/card0")
    for name in ("rps_act_freq_mhz", "rps_RP0_freq_mhz"):
        (card / "gt/gt0" / name).unlink()
    (card / "gt_act_freq_mhz").write_text("900\n")
    (card / "gt_RP0_freq_mhz").write_text("1150\n")
    check(once()[0], {"sm_clock": 900e6, "sm_clock_max": 1150e6})


def test_hwmon_of_the_card(once, tree):
    """i915 has another one for each tile, and hwmon10 comes after hwmon9."""
    tree.add("arc")
    device = tree.file(NAVI, "hwmon").parent
    for number, name, joules in ((8, "i915_gt0", 1), (9, "i915", 7), (10, "i915_gt1", 2)):
        folder = device / f"hwmon/hwmon{number}"
        folder.mkdir()
        (folder / "name").write_text(f"{name}\n")
        (folder / "energy1_input").write_text(f"{joules}000000\n")
    shutil.rmtree(device / "hwmon/hwmon3")
    check(once()[0], {"energy": 7})


def test_mixed_machine(once, tree):
    """AMD and Intel in one fleet, by PCI address; NVIDIA and a display controller are left out."""
    tree.add("rx7900").add("tigerlake")
    for bus, driver, node in (("0000:81:00.0", "nvidia", "card5 renderD133"), ("0000:c1:00.0", "ast", "card6")):
        folder = tree.root / "sys/devices/pci0000:80" / bus
        folder.mkdir(parents=True)
        tree.put(folder, "driver", driver)
        tree.put(folder, "nodes", node)
    rows = once()
    assert [r["identity"]["driver"] for r in rows] == ["i915", "amdgpu"]


# Values that are not there, and tables that are wrong


def test_table_of_unknown_version(once, tree):
    """Only what the table alone has is missing, with the reason, and the user is told."""
    mi300x_node(tree, 1)
    data = bytearray(table("1.7"))
    data[2:4] = 9, 9
    tree.file("0000:15:00.0", "gpu_metrics").write_bytes(data)
    row, = once()
    check(row, {"energy": None, "throttle_reasons": None, "nvlink_rx": None, "power": 612, "gpu_util": 0.5})
    assert row["missing"]["energy"] == "error"
    assert "gpu_metrics cannot be used, its version is not known" in once.stderr


def test_table_cut_off(once, tree):
    mi300x_node(tree, 1)
    tree.file("0000:15:00.0", "gpu_metrics").write_bytes(table("1.7")[:1000])
    check(once()[0], {"energy": None})
    assert "it is shorter than it says" in once.stderr


def test_nonsense_in_files(once, tree):
    tree.add("rx7900")
    for name, text in {"gpu_busy_percent": "lots", "mem_info_vram_used": "", "pp_dpm_sclk": "* * *",
                       "hwmon/hwmon4/power1_average": "-5"}.items():
        tree.file(NAVI, name).write_text(text)
    row, = once()
    # The firmware's table stands in for what the files do not tell.
    check(row, {"fb_used": None, "sm_clock_max": None, "gpu_util": 0.87, "power": 287})
    assert row["missing"]["fb_used"] == "error"


def test_more_than_all(once, tree):
    """655 % is what a missing value looks like after a division; the table stands in where it has one."""
    mi300x_node(tree, 1, busy=655)
    tree.file("0000:15:00.0", "mem_busy_percent").write_text("655\n")
    tree.file("0000:15:00.0", "gpu_metrics").write_bytes(table("1.7", average_gfx_activity=655,
                                                                     average_umc_activity=41, num_partition=1))
    row, = once()
    check(row, {"gpu_util": None, "mem_copy_util": 0.41})
    tree.file("0000:15:00.0", "gpu_busy_percent").write_text("-5\n")
    check(once()[0], {"gpu_util": None})


def test_below_zero(once, tree):
    """A cold GPU is a GPU."""
    tree.add("rx7900")
    tree.file(NAVI, "hwmon/hwmon4/temp1_input").write_text("-12000\n")
    check(once()[0], {"gpu_temp": -12})


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_denied(once, tree):
    tree.add("rx7900")
    tree.file(NAVI, "gpu_busy_percent").chmod(0)
    tree.file(NAVI, "gpu_metrics").chmod(0)
    assert once()[0]["missing"]["gpu_util"] == "denied"


# Sleep


def test_asleep(once, assay, tree):
    """A suspended GPU is shown and not read: files that would wake it are not even opened."""
    tree.add("rx7900")
    tree.file(NAVI, "power/runtime_status").write_text("suspended\n")
    tree.process(100, {3: ("/dev/dri/renderD129", fdinfo("amdgpu", 1, NAVI))})
    row, = once()
    check(row, {"asleep": 1, "gpu_util": None, "power": None, "gpu_temp": None, "fb_used": None, "processes": None})
    assert row["identity"]["model"] == "AMD Radeon RX 7900 XTX"
    assert row["verdict"]["class"] == "idle" and row["health"]["state"] == "unknown"
    text = assay("once", "--backend", "drm", "--root", tree.root).stdout
    assert "asleep" in text and "0%" not in text


def test_sleeping_files_stay_closed(program, tree, tmp_path):
    """strace sees no open of a sensor, of the table, or of a client of the GPU."""
    if subprocess.run(["sh", "-c", "command -v strace"], capture_output=True, check=False).returncode != 0:
        pytest.skip("strace is not installed")
    tree.add("rx7900")
    tree.file(NAVI, "power/runtime_status").write_text("suspended\n")
    tree.process(100, {3: ("/dev/dri/renderD129", fdinfo("amdgpu", 1, NAVI)), 4: ("/dev/null", "x")})
    log = tmp_path / "strace"
    subprocess.run(["strace", "-f", "-e", "trace=open,openat", "-o", log, program, "once", "--backend", "drm",
                    "--root", tree.root], capture_output=True, check=False)
    opened = log.read_text()
    assert "runtime_status" in opened
    for name in ("gpu_busy_percent", "gpu_metrics", "power1_average", "temp1_input", "current_link_speed", "fdinfo/3",
                 "current_compute_partition", "current_memory_partition"):
        assert name not in opened


@pytest.fixture
def drowsy(tree):
    """May be suspended when it was at rest for 5 s."""
    tree.add("rx7900")
    tree.file(NAVI, "power/control").write_text("auto\n")
    tree.file(NAVI, "power/autosuspend_delay_ms").write_text("5000\n")
    tree.file(NAVI, "gpu_busy_percent").write_text("1\n")
    return tree


def powers(program, tree):
    """Power of the third tick, which is 99 W when it is read again, and its age."""
    power = tree.file(NAVI, "hwmon/hwmon4/power1_average")
    row = stream(program, tree, 3, before_tick=lambda n: n == 2 and power.write_text("99000000\n"))[2]
    return row["metrics"]["power"], row["age"].get("power", 0)


def hold(tree, fd=None, **keys):
    """A client that does nothing, unless told otherwise."""
    tree.process(100, {3: ("/dev/dri/renderD129", fdinfo("amdgpu", 1, NAVI, **keys)), **(fd or {})})


def test_left_alone_to_fall_asleep(program, drowsy):
    """A GPU nobody uses is not read more often: its values grow old."""
    power, age = powers(program, drowsy)
    assert power == 287 and 0.2 <= age < 5


def test_holding_is_no_use(program, drowsy):
    """Desktops open every GPU; one that only is open falls asleep, if it is left alone."""
    hold(drowsy)
    power, age = powers(program, drowsy)
    assert power == 287 and 0.2 <= age < 5


def test_screen_is_use(program, drowsy):
    """With a screen it stays awake, and is read at every tick."""
    hold(drowsy)
    connector = drowsy.file(NAVI, "drm/card1/card1-DP-2")
    connector.mkdir()
    (connector / "enabled").write_text("enabled\n")
    assert powers(program, drowsy) == (99, 0)


def test_work_is_use(program, drowsy):
    """So it is with work: of its engines, through the compute driver, or of somebody we cannot see."""
    hold(drowsy, fd={4: ("/dev/kfd", None)})
    assert powers(program, drowsy) == (99, 0)
    drowsy.file(NAVI, "hwmon/hwmon4/power1_average").write_text("287000000\n")
    drowsy.process(100, {})
    drowsy.file(NAVI, "gpu_busy_percent").write_text("87\n")
    assert powers(program, drowsy) == (99, 0)


def test_engine_at_work_is_use(program, drowsy):
    power = drowsy.file(NAVI, "hwmon/hwmon4/power1_average")

    def change(n):
        hold(drowsy, engine_gfx=f"{n * 10_000_000} ns")
        power.write_text(f"{n}000000\n")

    change(5)
    rows = stream(program, drowsy, 3, before_tick=lambda n: change(n + 6))
    assert [r["metrics"]["power"] for r in rows[1:]] == [7, 8]


def test_wakes_up_and_goes_away(program, tree):
    tree.add("rx7900")
    status = tree.file(NAVI, "power/runtime_status")
    status.write_text("suspended\n")

    def change(n):
        if n == 1:
            status.write_text("active\n")
        else:
            status.unlink()
            tree.file(NAVI, "vendor").unlink()

    rows = stream(program, tree, 3, before_tick=change)
    assert [r["metrics"]["asleep"] for r in rows] == [1, 0, None]
    assert rows[1]["metrics"]["power"] == 287 and rows[2]["metrics"]["power"] is None
    assert rows[2]["metrics"]["lost"] == 1 and rows[2]["health"]["state"] == "CRIT"


def test_driver_goes_and_comes_back(program, tree):
    """Its node and hwmon have other numbers then."""
    tree.add("rx7900")
    device = tree.file(NAVI, "drm").parent

    def change(n):
        if n == 1:
            (device / "driver").rename(device / "away")
            shutil.rmtree(device / "drm")
            shutil.move(device / "hwmon", tree.root / "hwmon")
        elif n == 2:
            (device / "away").rename(device / "driver")
            (device / "drm/card2").mkdir(parents=True)
            (device / "drm/renderD130").mkdir()
            shutil.copytree(tree.root / "hwmon/hwmon4", device / "hwmon/hwmon11")

    rows = stream(program, tree, 3, before_tick=change)
    assert [r["metrics"]["power"] for r in rows] == [287, None, 287]
    assert [r["metrics"]["lost"] for r in rows] == [None, 1, None]
    assert rows[2]["metrics"]["gpu_temp"] == 58 and rows[2]["identity"]["device"] == "renderD130"


# Clients


def busy(tree, pid, fds, client, ns, **more):
    tree.process(pid, {fd: ("/dev/dri/renderD128", fdinfo("i915", client, "0000:00:02.0", engine_render=f"{ns} ns",
                                                          **more)) for fd in fds})


def utilization(program, tree, first, second):
    """The metrics of the tick after the change from first() to second(), half a second later: on a loaded machine, once it was."""
    for _ in range(10):
        first()
        rows = stream(program, tree, 2, poll=0.5, before_tick=lambda n: second())
        if rows[1]["time"] - rows[0]["time"] == pytest.approx(0.5, abs=0.02):
            break
    return rows[1]["metrics"]


def test_engine_time(program, tree):
    """0.25 s of engine time in a tick of half a second."""
    tree.add("tigerlake")
    m = utilization(program, tree, lambda: busy(tree, 100, [5], 7, 1000),
                    lambda: busy(tree, 100, [5], 7, 250_001_000))
    assert m["gpu_util"] == pytest.approx(0.5, abs=0.05) and m["gr_active"] == m["gpu_util"]
    assert m["processes"] == 1


def test_capacity(program, tree):
    """Two video engines: the time of both together is 100 %."""
    tree.add("tigerlake")

    def work(ns):
        tree.process(100, {5: ("/dev/dri/card0", fdinfo("i915", 7, "0000:00:02.0", engine_render="0 ns",
                                                        engine_video=f"{ns} ns", engine_capacity_video=2))})

    m = utilization(program, tree, lambda: work(0), lambda: work(500_000_000))
    assert m["gpu_util"] == pytest.approx(0.5, abs=0.05) and m["gr_active"] == 0


def test_shared_client(program, tree):
    """Two processes and many descriptors with one client: its time counts once."""
    tree.add("tigerlake")

    def work(ns):
        busy(tree, 100, range(3, 23), 7, ns)
        busy(tree, 101, [9], 7, ns)

    m = utilization(program, tree, lambda: work(0), lambda: work(250_000_000))
    assert m["gpu_util"] == pytest.approx(0.5, abs=0.05) and m["processes"] == 2


def test_two_clients(program, tree):
    tree.add("tigerlake")

    def work(ns):
        busy(tree, 100, [3], 7, ns)
        busy(tree, 101, [3], 8, ns)

    m = utilization(program, tree, lambda: work(0), lambda: work(100_000_000))
    assert m["gpu_util"] == pytest.approx(0.4, abs=0.05)


def test_counter_falls(program, tree):
    """A counter that goes back contributes nothing; a huge number never appears."""
    tree.add("tigerlake")
    m = utilization(program, tree, lambda: busy(tree, 100, [5], 7, 10 ** 12), lambda: busy(tree, 100, [5], 7, 5))
    assert m["gpu_util"] == 0


def test_counter_starts_again(program, tree):
    """After a reset that stays, the new counter counts."""
    tree.add("tigerlake")
    busy(tree, 100, [5], 7, 10 ** 12)
    rows = stream(program, tree, 7, poll=0.2, before_tick=lambda n: busy(tree, 100, [5], 7, n * 100_000_000))
    assert [r["metrics"]["gpu_util"] for r in rows[1:3]] == [0, 0]
    assert rows[6]["metrics"]["gpu_util"] == pytest.approx(0.5, abs=0.1)


def test_descriptor_closes(program, tree):
    tree.add("tigerlake")
    m = utilization(program, tree, lambda: busy(tree, 100, [5], 7, 10 ** 9), lambda: tree.process(100, {}))
    assert m["gpu_util"] == 0 and m["processes"] == 0


def test_other_descriptors_are_not_opened(once, tree):
    """A descriptor whose link is not below /dev/dri is not a client, whatever its fdinfo says."""
    tree.add("tigerlake")
    text = fdinfo("i915", 7, "0000:00:02.0")
    tree.process(100, {1: ("/dev/null", text), 2: ("socket:[123]", text), 3: ("/dev/drive", text)})
    assert once()[0]["metrics"]["processes"] == 0


def test_xe_cycles(program, tree):
    """xe counts cycles, of which as many have passed: 3 of 10 million on one of four engines each."""
    tree.add("arc")

    def work(cycles, total):
        tree.process(100, {5: ("/dev/dri/renderD128", fdinfo(
            "xe", 3, "0000:03:00.0", resident_vram0="1024 MiB", total_vram0="2048 MiB", resident_gtt="192 KiB",
            cycles_rcs=0, total_cycles_rcs=total, cycles_ccs=cycles, total_cycles_ccs=total,
            engine_capacity_ccs=4))})

    m = utilization(program, tree, lambda: work(1000, 5), lambda: work(3_001_000, 10_000_005))
    assert m["gpu_util"] == pytest.approx(0.075) and m["fb_used"] == GIB and m["fb_total"] == 16 * GIB


def test_amdgpu_keeps_its_counter(program, tree):
    """amdgpu's own counter is the device's utilization; encoders come from the clients."""
    tree.add("rx7900")

    def work(ns):
        tree.process(100, {5: ("/dev/dri/renderD129", fdinfo("amdgpu", 3, NAVI, memory_vram="2048 KiB",
                                                            engine_gfx="0 ns", engine_enc=f"{ns} ns"))})

    m = utilization(program, tree, lambda: work(0), lambda: work(125_000_000))
    assert m["gpu_util"] == 0.87 and m["enc_util"] == pytest.approx(0.25, abs=0.03) and m["dec_util"] is None


@pytest.mark.parametrize("major, encodes", [(None, True), (3, True), (4, False)])
def test_engine_that_encodes_and_decodes(program, tree, major, encodes):
    """From VCN 4 on there is one queue, called enc: its time is neither the encoder's nor the decoder's."""
    tree.add("rx7900")
    if major:
        part = tree.file(NAVI, "ip_discovery/die/0/12/0")
        part.mkdir(parents=True)
        (part / "major").write_text(f"{major}\n")

    def work(ns):
        tree.process(70, {3: ("/dev/dri/renderD129", fdinfo("amdgpu", 9, NAVI, engine_enc=f"{ns} ns"))})

    got = utilization(program, tree, lambda: work(0), lambda: work(250_000_000))
    assert (got["enc_util"] is not None) == encodes and got["dec_util"] is None


def test_partition_nodes_belong_to_the_gpu(once, tree):
    mi300x_node(tree, 1, "CPX", 8, "1;2;3;4;5;6;7;8")
    tree.process(100, {5: ("/dev/dri/renderD139", fdinfo("amdgpu", 3, "0000:15:00.0"))})
    assert once()[0]["metrics"]["processes"] == 1


def test_rates(program, tree):
    """xGMI in kilobytes, residency of a throttler, Intel's power from its energy."""
    mi300x_node(tree, 1)

    def work(n):
        tree.file("0000:15:00.0", "gpu_metrics").write_bytes(table(
            "1.7", ppt_residency_acc=150, socket_thm_residency_acc=0, xgmi_read_data_acc=[2_001_000, 2000],
            xgmi_write_data_acc=[1_001_000, 2000], num_partition=1))

    # 7 links had 28,000 KB; the table now shows 2,003,000 and 1,003,000.
    row = stream(program, tree, 2, poll=0.5, before_tick=work)[1]["metrics"]
    assert row["nvlink_rx"] == pytest.approx(1_975_000_000 / 0.5, rel=0.1)
    assert row["nvlink_tx"] == pytest.approx(975_000_000 / 0.5, rel=0.1)
    assert row["throttle_reasons"] == 0x4


@pytest.mark.parametrize("rises, reasons", [("gfx_below_host_limit_ppt_acc", 0x4), ("gfx_below_host_limit_thm_acc", 0x20), (None, 0)])
def test_clocks_below_the_hosts_limit(program, tree, rises, reasons):
    """Table 1.9 counts for each shader complex how long power or heat kept its clock down; one is enough."""
    mi300x_node(tree, 1)

    def work(n):
        told = {"gfx_below_host_limit_ppt_acc": [5000, 7000, 2**64 - 1], "gfx_below_host_limit_thm_acc": [100, 0, 2**64 - 1]}
        if rises:
            told[rises][1] += 900 * n
        tree.file("0000:15:00.0", "gpu_metrics").write_bytes(attribute_table(curr_socket_power=740, average_gfx_activity=99, ppt_residency_acc=0, **told))

    work(1)
    assert stream(program, tree, 2, before_tick=lambda n: work(2))[1]["metrics"]["throttle_reasons"] == reasons


def test_residency_that_counts_all_cycles(program, tree):
    """Firmware that copies its count of cycles into throttlers does not tell that it throttles."""
    mi300x_node(tree, 1)

    def work(n):
        tree.file("0000:15:00.0", "gpu_metrics").write_bytes(table(
            "1.6", accumulation_counter=1000 * n, ppt_residency_acc=1000 * n, hbm_thm_residency_acc=1000 * n,
            prochot_residency_acc=0, num_partition=1))

    work(1)
    rows = stream(program, tree, 2, before_tick=lambda n: work(2))
    assert [r["metrics"]["throttle_reasons"] for r in rows] == [0, 0]


def test_power_from_energy(program, tree):
    tree.add("arc")
    row = stream(program, tree, 2, poll=0.5, before_tick=lambda n: tree.file(
        "0000:03:00.0", "hwmon/hwmon3/energy2_input").write_text("5050000000\n"))[1]["metrics"]
    assert row["power"] == pytest.approx(100, rel=0.1) and row["energy"] == 5050


# Which GPUs


@pytest.mark.parametrize("env, shown", [
    ({"ROCR_VISIBLE_DEVICES": "1,3"}, ["1", "3"]),
    ({"HIP_VISIBLE_DEVICES": "2"}, ["2"]),
    ({"ROCR_VISIBLE_DEVICES": "GPU-a1b2c3d4e5f60705"}, ["5"]),
    ({"ROCR_VISIBLE_DEVICES": "GPU-A1B2C3D4E5F60705"}, ["5"]),
    ({"ROCR_VISIBLE_DEVICES": "4,6,7", "HIP_VISIBLE_DEVICES": "1"}, ["6"]),
    ({"ZE_AFFINITY_MASK": "0"}, list("01234567")),
    ({"CUDA_VISIBLE_DEVICES": "3"}, list("01234567")),
    ({"CUDA_VISIBLE_DEVICES": "3", "ROCR_VISIBLE_DEVICES": "2"}, ["2"]),
    ({"SLURM_JOB_GPUS": "1"}, ["1"]),
    ({}, list("01234567")),
])
def test_visibility(once, tree, env, shown):
    mi300x_node(tree)
    assert [r["gpu"] for r in once(env=env)] == shown


@pytest.mark.parametrize("env, shown", [
    ({"ZE_AFFINITY_MASK": "1"}, ["0"]),
    ({"ZE_AFFINITY_MASK": "2"}, ["1"]),
    ({"ZE_AFFINITY_MASK": "0,2"}, ["0", "1"]),
    ({"ZE_AFFINITY_MASK": "2", "ZE_FLAT_DEVICE_HIERARCHY": "FLAT"}, ["1"]),
    ({"ZE_AFFINITY_MASK": "1", "ZE_FLAT_DEVICE_HIERARCHY": "COMPOSITE"}, ["1"]),
    ({"ZE_AFFINITY_MASK": "0.1", "ZE_FLAT_DEVICE_HIERARCHY": "COMPOSITE"}, ["0"]),
])
def test_level_zero_counts_tiles(once, tree, env, shown):
    """A card of two tiles, then one of a single tile: numbers 0 and 1, then 2; or 0 and 1 when it counts cards."""
    tree.add("arc")
    folder = tree.root / "sys/devices/pci0000:80/0000:81:00.0"
    (folder / "tile0").mkdir(parents=True)
    for key, value in {"driver": "xe", "nodes": "card1 renderD129", "vendor": "0x8086"}.items():
        tree.put(folder, key, value)
    second = tree.file("0000:03:00.0", "tile1")
    second.mkdir()
    (second / "physical_vram_size_bytes").write_text("17179869184\n")
    rows = once(env=env)
    assert [r["gpu"] for r in rows] == shown
    if shown == ["0"]:
        check(rows[0], {"fb_total": 32 * GIB})


def test_rocm_counts_by_its_nodes(once, tree):
    """The compute driver's order is ROCm's, and it need not be that of PCI addresses."""
    mi300x_node(tree, 3)
    for i, pci in enumerate([None, "0000:35:00.0", "0000:15:00.0", "0000:25:00.0"]):
        tree.compute_node(i, pci)
    assert [r["gpu"] for r in once(env={"ROCR_VISIBLE_DEVICES": "0"})] == ["2"]
    assert [r["gpu"] for r in once(env={"ROCR_VISIBLE_DEVICES": "1,2"})] == ["0", "1"]


def test_a_node_that_cannot_be_read_ends_no_list(once, tree):
    """The GPUs behind it keep their numbers; only a number that is not there is the last."""
    mi300x_node(tree, 3)
    for i, pci in enumerate([None, "0000:35:00.0", "0000:25:00.0", "0000:15:00.0"]):
        tree.compute_node(i if i < 2 else i + 1, pci)
    (tree.root / "sys/class/kfd/kfd/topology/nodes/2/properties").mkdir(parents=True)  # reading it fails, whoever reads
    for number, gpu in (("0", "2"), ("1", "1"), ("2", "0")):
        assert [r["gpu"] for r in once(env={"ROCR_VISIBLE_DEVICES": number})] == [gpu]


@pytest.mark.parametrize("with_nodes", [False, True])
def test_rocm_counts_partitions(once, tree, with_nodes):
    """Two GPUs in eight parts each are sixteen devices: number 9 is the second part of the second GPU."""
    mi300x_node(tree, 2, "CPX", 8, "10;20;30;40;50;60;70;80")
    for i in range(16 if with_nodes else 0):
        tree.compute_node(i, f"0000:{'15' if i < 8 else '25'}:00.0", i % 8)
    assert [r["gpu"] for r in once(env={"ROCR_VISIBLE_DEVICES": "9"})] == ["1", "1/1"]


def test_select_by_pci(once, tree):
    mi300x_node(tree)
    assert [r["gpu"] for r in once("--gpus", "0000:35:00.0")] == ["2"]


def test_only_reachable_nodes(once, tree):
    """In a container /sys shows all GPUs and /dev/dri the ones that were passed in."""
    mi300x_node(tree)
    for i in range(8):
        if i != 4:
            (tree.root / f"dev/dri/card{i}").unlink()
            (tree.root / f"dev/dri/renderD{128 + i}").unlink()
    rows = once()
    assert [r["identity"]["pci"] for r in rows] == ["0000:55:00.0"]


def test_only_a_partition_is_reachable(once, tree):
    """A container that got one partition's node sees the GPU that it is a part of."""
    mi300x_node(tree, count=2, mode="CPX", partitions=8, xcp="50;40;30;20;10;90;90;90")
    tree.compute_node(0)
    tree.compute_node(1, "0000:15:00.0", 0, 128)
    tree.compute_node(2, "0000:25:00.0", 5, 149)
    for node in (tree.root / "dev/dri").iterdir():
        if node.name != "renderD149":
            node.unlink()
    assert {r["identity"]["pci"] for r in once()} == {"0000:25:00.0"}


def test_no_gpu(assay, tree):
    done = assay("once", "--backend", "drm", "--root", tree.root)
    assert done.returncode == 3 and "modprobe" in done.stderr and done.stdout == ""


def test_no_reachable_gpu(assay, tree):
    tree.add("rx7900")
    for node in (tree.root / "dev/dri").iterdir():
        node.unlink()
    done = assay("once", "--backend", "drm", "--root", tree.root)
    assert done.returncode == 3 and "/dev/dri" in done.stderr and "render" in done.stderr


def test_nowhere(assay, tmp_path):
    (tmp_path / "proc").mkdir()
    done = assay("once", "--backend", "drm", "--root", tmp_path)
    assert done.returncode == 3 and "/sys/class/drm" in done.stderr


def test_model_names(once, assay, tree):
    """Without libdrm's list, pci.ids tells; without any list, the ids stand for the name."""
    tree.add("rx7900")
    (tree.root / "usr/share/libdrm/amdgpu.ids").unlink()
    assert once()[0]["identity"]["model"] == "AMD Radeon RX 7900 XT/7900 XTX"
    (tree.root / "usr/share/misc/pci.ids").unlink()
    assert once()[0]["identity"]["model"] == "AMD 0x744c"
    assert "0      0x744c " in assay("once", "--backend", "drm", "--root", tree.root).stdout


def test_name_that_nobody_can_show(once, assay, tree):
    """What a board's memory holds is neither sent to the terminal nor into JSON as it is."""
    tree.add("rx7900")
    tree.file(NAVI, "product_name").write_bytes(b"\x1b[31mRadeon \xff\nPro \xc3\xa9\x9b\n")
    assert once()[0]["identity"]["model"] == "AMD ?[31mRadeon ??Pro é?"
    for command in ("once", "devices", "doctor"):
        out = assay(command, "--root", tree.root).stdout
        assert "\x1b" not in out and "?[31mR" in out


def test_stops_at_once(program, tree):
    tree.add("rx7900")
    command = [program, "export", "--backend", "drm", "--root", str(tree.root), "--poll", "60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        child.stdout.readline()
        child.stdout.readline()
        start = time.monotonic()
        child.send_signal(signal.SIGINT)
        child.wait(timeout=5)
        assert time.monotonic() - start < 0.4


def hang(tree, name="gpu_metrics"):
    """Makes a sensor of the RX 7900 one that never answers: opening a pipe waits for a writer who never comes."""
    sensor = tree.file(NAVI, name)
    sensor.unlink()
    os.mkfifo(sensor)


def test_hung_driver(program, tree):
    """Ticks go on with values that grow old, and the end is quick."""
    tree.add("rx7900")
    command = [program, "export", "--backend", "drm", "--root", str(tree.root), "--format", "jsonl", "--poll", "0.2"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        child.stdout.readline()
        hang(tree)
        rows = [json.loads(child.stdout.readline()) for _ in range(8)]
        start = time.monotonic()
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=5)
        assert time.monotonic() - start < 1
    ages = [r.get("age", {}).get("power", 0) for r in rows]
    assert ages == sorted(ages) and ages[-1] > 0.8 and rows[-1]["metrics"]["power"] == 287
    assert "drm: no answer for" in said


@pytest.mark.slow
def test_hung_from_the_start(assay, tree):
    tree.add("rx7900")
    hang(tree)
    start = time.monotonic()
    done = assay("once", "--backend", "drm", "--root", tree.root)
    assert done.returncode == 3 and "does not answer" in done.stderr and "dmesg" in done.stderr
    assert time.monotonic() - start < 15


@pytest.mark.slow
@pytest.mark.quiet
def test_many_processes(program, tree):
    """2,000 processes with 20 descriptors each, 50 of them with a GPU: a tick takes well below a tenth of a second."""
    tree.add("tigerlake")
    for pid in range(1000, 3000):
        fds = {fd: ("/dev/null", None) for fd in range(20)}
        if pid % 40 == 0:
            fds[7] = ("/dev/dri/renderD128", fdinfo("i915", pid, "0000:00:02.0", engine_render="5 ns"))
        tree.process(pid, fds)
    before = os.times()
    rows = stream(program, tree, 3, poll=1)
    after = os.times()
    if rows[-1]["metrics"]["processes"] is None:
        rows = stream(program, tree, 15, poll=1)
    # On a slow machine the first look is spread over ticks: nothing is claimed before its end.
    assert {r["metrics"]["processes"] for r in rows} <= {50, None} and rows[-1]["metrics"]["processes"] == 50
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    print(f"{spent:.3f} s of CPU for four scans")
    assert spent < 1


# The doctor


def doctor(assay, tree):
    done = assay("doctor", "--root", tree.root, "--json")
    found = json.loads(done.stdout)
    return done.returncode, next(c for c in found["checks"] if c["check"] == "drm"), found["conclusion"]


def test_doctor_sees_the_gpu(assay, tree):
    tree.add("rx7900")
    status, check_, conclusion = doctor(assay, tree)
    assert status == 0 and check_["outcome"] == "ok" and "RX 7900 XTX (amdgpu)" in check_["says"]
    assert "--backend drm" in conclusion


def test_doctor_counts(assay, tree):
    mi300x_node(tree, 4)
    tree.file("0000:25:00.0", "power/runtime_status").write_text("suspended\n")
    _, check_, _ = doctor(assay, tree)
    assert check_["says"] == "4 x AMD Instinct MI300X OAM (amdgpu); 1 of 4 asleep: read through the kernel"


def test_doctor_without_a_gpu(assay, tree):
    status, check_, _ = doctor(assay, tree)
    assert status == 3 and check_["outcome"] == "note"


def test_doctor_in_a_container(assay, tree):
    tree.add("rx7900")
    for node in (tree.root / "dev/dri").iterdir():
        node.unlink()
    _, check_, _ = doctor(assay, tree)
    assert check_["outcome"] == "warn" and "--device /dev/dri" in check_["remedy"]


def test_doctor_knows_old_kernels(assay, tree):
    tree.add("arc")
    release = tree.root / "proc/sys/kernel/osrelease"
    release.parent.mkdir(parents=True)
    release.write_text("6.8.0-45-generic\n")
    _, check_, _ = doctor(assay, tree)
    assert check_["outcome"] == "warn" and "6.11" in check_["remedy"]
    release.write_text("5.15.0\n")
    (tree.devices["0000:03:00.0"] / "driver").unlink()
    tree.put(tree.devices["0000:03:00.0"], "driver", "amdgpu")
    assert "5.19" in doctor(assay, tree)[1]["remedy"]
    (tree.devices["0000:03:00.0"] / "driver").unlink()
    tree.put(tree.devices["0000:03:00.0"], "driver", "xe")
    release.write_text("6.12.1\n")
    assert doctor(assay, tree)[1]["outcome"] == "ok"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may open everything")
def test_doctor_tells_of_groups(assay, tree):
    tree.add("rx7900")
    (tree.root / "dev/dri/renderD129").chmod(0)
    _, check_, _ = doctor(assay, tree)
    assert check_["outcome"] == "warn" and "usermod" in check_["remedy"] and "render" in check_["remedy"]
