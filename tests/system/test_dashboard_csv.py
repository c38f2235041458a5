"""The CSV that scripts around the Python dashboard read, computed here a second time from the rules."""
import csv
import io
import random

import pytest

COLUMNS = ("SMCLK MMCLK MTMP GTMP POWER TOTEC PCIRP GPUTL MCUTL FBFRE FBUSD FBRSV NVLBW GRACT SMACT SMOCC "
           "TENSO DRACT FP64A FP32A FP16A PCITX PCIRX NVLTX NVLRX").split()
WIDTHS = dict(SMCLK=13, MMCLK=13, MTMP=18, GTMP=13, POWER=18, TOTEC=24, PCIRP=13, GPUTL=18, MCUTL=18,
              FBFRE=18, FBUSD=18, FBRSV=18, NVLBW=28, PCITX=28, PCIRX=28, NVLTX=28, NVLRX=28)
HEADER = ("timestamp gpu_id model real_util_pct status health sm_active_pct tensor_active_pct dram_active_pct "
          "gr_engine_active_pct gpu_util_pct mem_used_mib mem_total_mib mem_used_pct power_w gpu_temp_c mem_temp_c "
          "sm_occupancy_pct fp16_pipe_pct fp32_pipe_pct fp64_pipe_pct memcpy_util_pct pcie_rx_bytes_s "
          "pcie_tx_bytes_s nvlink_gbps sm_clock_mhz mem_clock_mhz pcie_replay_rate_s energy_j tc_hmma_pct "
          "tc_imma_pct tc_dfma_pct tc_dmma_pct tc_qmma_pct").split()
DEFAULT = ("timestamp gpu_id model gpu_util_pct mem_used_mib real_util_pct sm_active_pct tensor_active_pct "
           "dram_active_pct").split()
PRESETS = {"ai": (0.35, 0.35, 0.20, 0.10), "hpc": (0.45, 0.15, 0.25, 0.15), "mem": (0.35, 0.10, 0.40, 0.15)}


# What no GPU has, and a broken sensor says; the dashboard believed it.
IMPOSSIBLE = dict(MTMP=["441", "-300"], GTMP=["441"], POWER=["25000.000", "441441.000"], SMCLK=["9999999"], SMACT=["7.500"])
# Columns that dcgmi calls otherwise than the dashboard did.
REAL_NAMES = dict(MTMP="MMTMP", GTMP="TMPTR", PCIRP="RPCTR", NVLBW="NBWLT", DRACT="DRAMA")


def make_capture(seed, gpus, rounds, wide=True, names=COLUMNS):
    """A capture with every kind of cell, some impossible, and the cells themselves."""
    rng = random.Random(seed)

    def line(first, cells):
        """Columns as dcgmi pads them, or one blank between words."""
        if not wide:
            return " ".join([first, *cells])
        return first.ljust(16) + "".join(v.ljust(WIDTHS.get(c, 13)) for c, v in zip(COLUMNS, cells))

    header = line("#Entity", names)
    lines, ticks = [], []
    replay = [rng.randint(0, 5) for _ in range(gpus)]
    for t in range(rounds):
        if t % 14 == 0:
            lines += [header, "ID"]
        tick = []
        for g in range(gpus):
            replay[g] = rng.choice([replay[g], replay[g], replay[g] + rng.randint(1, 9), 0])
            cells = {}
            for c in COLUMNS:
                if c.endswith("ACT") or c in ("SMOCC", "TENSO", "FP64A", "FP32A", "FP16A"):
                    v = f"{rng.choice([0, rng.random(), rng.random(), 1]):.3f}"
                elif c in ("GPUTL", "MCUTL"):
                    v = str(rng.choice([0, rng.randint(0, 100), 100, 103]))
                elif c == "POWER":
                    v = f"{rng.uniform(60, 700):.3f}"
                elif c == "TOTEC":
                    v = str(rng.randint(0, 10**13))
                elif c in ("MTMP", "GTMP"):
                    v = str(rng.randint(30, 97))
                elif c == "PCIRP":
                    v = str(replay[g])
                elif c in ("PCITX", "PCIRX", "NVLTX", "NVLRX"):
                    v = str(rng.choice([0, rng.randint(0, 60 * 10**9)]))
                else:
                    v = str(rng.randint(0, 80000))
                if c in IMPOSSIBLE and rng.random() < 0.03:
                    v = rng.choice(IMPOSSIBLE[c])
                cells[c] = "N/A" if t == 0 and c in COLUMNS[13:] or rng.random() < 0.05 else v
            tick.append((g, cells))
            lines.append(line(f"GPU {g}", [cells[c] for c in COLUMNS]))
        ticks.append(tick)
    return "\n".join(lines) + "\n", ticks


def classify(real, sm, tensor, dram, gr, fp64, copy, pcie):
    io_heavy = copy >= 40 or pcie >= 1e9
    if real < 5 and gr < 5 and dram < 5 and not io_heavy:
        return "idle"
    rules = [(tensor >= 50 and sm >= 60, "tensor-heavy compute"), (tensor >= 15 and sm >= 40, "tensor compute"),
             (fp64 >= 20 and sm >= 50, "FP64 / HPC compute"), (io_heavy and sm < 30, "I/O or data-loading"),
             (dram >= 50 and sm < 50, "memory-bound"), (sm >= 80, "compute-heavy"), (sm >= 50, "compute-active"),
             (dram >= 40, "memory-active"), (gr >= 40 and sm < 25, "busy, low SM use"),
             (gr < 15 and sm < 15 and dram < 15, "low utilization")]
    return next((name for hit, name in rules if hit), "mixed / moderate")


def expected_rows(ticks, poll, weights):
    """What the dashboard prints, by its rules: missing counts as zero in verdicts, and is empty in the file."""
    before = {}
    for n, tick in enumerate(ticks):
        ts = n * poll
        for g, cells in tick:
            raw = {c: None if v == "N/A" else float(v) for c, v in cells.items()}

            def ratio(c, scale=1.0):
                return None if raw[c] is None else min(1.0, max(0.0, raw[c] / scale))

            f = {c: ratio(c) for c in COLUMNS[13:21]}
            util, copy = ratio("GPUTL", 100.0), ratio("MCUTL", 100.0)

            def pct(v):
                return 0.0 if v is None else v * 100.0

            gr = pct(util if f["GRACT"] is None else f["GRACT"])
            sm, tensor, dram = pct(f["SMACT"]), pct(f["TENSO"]), pct(f["DRACT"])
            real = weights[0] * sm + weights[1] * tensor + weights[2] * dram + weights[3] * gr
            real = max(0.0, min(100.0, real))
            status = classify(real, sm, tensor, dram, gr, pct(f["FP64A"]), pct(copy),
                              max(raw["PCIRX"] or 0, raw["PCITX"] or 0))
            rate, old = None, before.get(g)
            if old and old[1] is not None and raw["PCIRP"] is not None and raw["PCIRP"] >= old[1]:
                rate = (raw["PCIRP"] - old[1]) / (ts - old[0])
            before[g] = (ts, raw["PCIRP"])
            hot = any(raw[c] is not None and raw[c] >= 93 for c in ("GTMP", "MTMP"))
            health = "WARN" if rate else "HOT" if hot else "OK"
            memory = [raw[c] for c in ("FBUSD", "FBFRE", "FBRSV")]
            total = None if None in memory else sum(memory)
            used = raw["FBUSD"] / total if total else None

            def fix(v, digits, scale=1.0):
                return "" if v is None else f"{v * scale:.{digits}f}"

            def percent(v):
                return "" if v is None else f"{max(0.0, min(100.0, v * 100.0)):.2f}"

            yield [f"{ts:.2f}", str(g), "GPU", f"{real:.2f}", status, health, percent(f["SMACT"]),
                   percent(f["TENSO"]), percent(f["DRACT"]), percent(f["GRACT"]), percent(util),
                   fix(raw["FBUSD"], 4), fix(total, 1), percent(used), fix(raw["POWER"], 4), fix(raw["GTMP"], 4),
                   fix(raw["MTMP"], 4), percent(f["SMOCC"]), percent(f["FP16A"]), percent(f["FP32A"]),
                   percent(f["FP64A"]), percent(copy), fix(raw["PCIRX"], 4), fix(raw["PCITX"], 4),
                   "" if raw["NVLBW"] is None else f"{raw['NVLBW'] * 1e6 / 1e9:.4f}", fix(raw["SMCLK"], 4),
                   fix(raw["MMCLK"], 4), fix(rate, 2),
                   "" if raw["TOTEC"] is None else f"{raw['TOTEC'] / 1000.0:.1f}", "", "", "", "", ""]


def as_csv(header, rows):
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue().encode()


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("names", [COLUMNS, [REAL_NAMES.get(c, c) for c in COLUMNS]], ids=["the dashboard's names", "dcgmi's names"])
def test_byte_for_byte(assay, tmp_path, preset, wide, names):
    text, ticks = make_capture(seed=len(preset) + wide, gpus=8, rounds=120, wide=wide, names=names)
    capture = tmp_path / "capture.txt"
    capture.write_text(text)
    done = assay("--backend", "replay", "--source", capture, "--export", "all", "--missing", "zero", "--crlf",
                 "--poll", "1", f"--{preset}-weights", text=False)
    assert done.stderr == b""
    want = as_csv(HEADER, expected_rows(ticks, 1.0, PRESETS[preset]))
    got = done.stdout
    for a, b in zip(got.split(b"\r\n"), want.split(b"\r\n")):
        assert a == b
    assert got == want


def test_default_columns(assay, tmp_path):
    text, ticks = make_capture(seed=7, gpus=2, rounds=20)
    capture = tmp_path / "capture.txt"
    capture.write_text(text)
    done = assay("export", "--source", capture, "--missing", "zero", "--crlf", text=False)
    rows = [dict(zip(HEADER, r)) for r in expected_rows(ticks, 1.0, PRESETS["ai"])]
    assert done.stdout == as_csv(DEFAULT, [[r[c] for c in DEFAULT] for r in rows])


def test_impossible_values_are_missing_elsewhere(assay, tmp_path):
    """Without --missing zero nobody is told of 441 °C, and DCGM's MB/s of NVLink are 1000 KiB."""
    (tmp_path / "c.txt").write_text("#Entity  TMPTR  POWER  NBWLT\nGPU 0  441  25000  1000\nGPU 0  41  250  2000\n")
    columns = "gpu_temp_c,power_w,nvlink_gbps"
    assert assay("export", columns, "--source", tmp_path / "c.txt").stdout.split()[1:] == [",,1.0240", "41.0000,250.0000,2.0480"]
    as_before = assay("export", columns, "--source", tmp_path / "c.txt", "--missing", "zero").stdout.split()[1:]
    assert as_before == ["441.0000,25000.0000,1.0000", "41.0000,250.0000,2.0000"]


def test_every_decimal_tie(assay, tmp_path):
    """Real Utilization of three-decimal inputs often lies on a rounding edge of the second decimal."""
    width = 13
    names = ["GRACT", "SMACT", "TENSO", "DRAMA"]
    lines = ["#Entity".ljust(16) + "".join(n.ljust(width) for n in names)]
    want = []
    for i in range(0, 1001):
        v = [f"{(i * k) % 1001 / 1000:.3f}" for k in (1, 7, 13, 29)]
        lines.append("GPU 0".ljust(16) + "".join(x.ljust(width) for x in v))
        gr, sm, tensor, dram = (float(x) * 100.0 for x in v)
        want.append(f"{0.35 * sm + 0.35 * tensor + 0.20 * dram + 0.10 * gr:.2f}")
    capture = tmp_path / "ties.txt"
    capture.write_text("\n".join(lines) + "\n")
    done = assay("export", "real_util_pct", "--source", capture)
    assert done.stdout.split()[1:] == want
