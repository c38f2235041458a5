"""Bursts between scrapes: the rates of our counters are the truth, gauges that are sampled are not."""
import csv
import itertools
import statistics

import pytest

from conftest import ROOT
from serving import Server, samples

TOUR = ROOT / "data" / "h200-tour.csv"
COLUMNS = ("sm_active_pct", "gr_engine_active_pct", "tensor_active_pct", "dram_active_pct", "gpu_util_pct", "mem_used_mib", "power_w", "sm_clock_mhz")
PATTERNS = {0: (1.0, 10.0), 1: (0.3, 7.0)}  # GPU: seconds on, of every so many
TICK, LENGTH, SPEED, BEGIN = 0.1, 630.0, 300, 1_700_000_000  # whole bursts of both


def overlap(a, b, on, every):
    """Seconds between a and b in which a burst is on; each begins a third into its period."""
    def until(t):
        t -= every / 3
        return t // every * on + min(t % every, on)

    return until(b) - until(a)


def write_capture(path):
    """Rows that an H200 gave in a matrix product and at rest, spliced into bursts. Returns the truth: {gpu: [seconds of SM until each tick]}."""
    with open(TOUR, encoding="utf-8") as rows:
        real = list(csv.DictReader(rows))
    product = itertools.cycle([r for r in real if float(r["sm_active_pct"]) > 95 and float(r["tensor_active_pct"]) > 92])
    rest = itertools.cycle([r for r in real if float(r["gr_engine_active_pct"]) == 0 and float(r["mem_used_mib"]) > 500])
    truth = {g: [0.0] for g in PATTERNS}
    with open(path, "w", encoding="utf-8") as out:
        out.write("timestamp,gpu_id," + ",".join(COLUMNS) + "\n")
        for i in range(int(LENGTH / TICK) + 1):
            for g, (on, every) in PATTERNS.items():
                share = overlap((i - 1) * TICK, i * TICK, on, every) / TICK
                one, other = next(product), next(rest)
                row = [share * float(one[c]) + (1 - share) * float(other[c]) for c in COLUMNS]
                out.write(f"{BEGIN + i * TICK:.1f},{g}," + ",".join(f"{v:.4f}" for v in row) + "\n")
                if i:
                    truth[g].append(truth[g][-1] + row[0] / 100 * TICK)
    return truth


def read(text):
    """{gpu: (observed, active, gauge)}"""
    found = samples(text)

    def value(family, gpu, more=""):
        return next((v for k, v in found.items() if k.startswith(family + "{") and f'gpu="{gpu}"' in k and more in k), None)

    return {g: (value("assay_gpu_observed_seconds_total", g), value("assay_gpu_active_seconds_total", g, 'unit="sm"'),
                value("DCGM_FI_PROF_SM_ACTIVE", g)) for g in PATTERNS}


def scrapers(scrapes, apart):
    """What somebody who asks each so many seconds would have got, for some who began at different moments."""
    for first in range(0, apart, 3):
        due, got = first, []
        for s in scrapes:
            if s[0] >= due:
                got.append(s)
                due += apart
        yield got


@pytest.fixture(scope="module")
def scraped(program, tmp_path_factory):
    """(truth, {gpu: scrapes}): about every 3 s of the capture's time, to its end."""
    folder = tmp_path_factory.mktemp("exact")
    truth = write_capture(folder / "bursts.csv")
    scrapes = {g: [] for g in PATTERNS}
    with Server(program, folder, folder / "bursts.csv", "--speed", SPEED) as s:
        s.ready()

        def at_end():
            for g, got in read(s.metrics()).items():
                if scrapes[g] and got[2] is None:
                    got = (*got[:2], scrapes[g][-1][2])  # at the end there is no gauge any more
                if None not in got and (not scrapes[g] or got[0] >= scrapes[g][-1][0] + 3 or got[0] > LENGTH - TICK):
                    scrapes[g].append(got)
            return all(v and v[-1][0] > LENGTH - TICK for v in scrapes.values())

        s.wait(at_end, 90)
    return truth, scrapes


@pytest.mark.parametrize("gpu", PATTERNS)
def test_the_rate_is_the_truth_where_gauges_are_not(scraped, gpu):
    truth, scrapes = scraped[0][gpu], scraped[1][gpu]
    on, every = PATTERNS[gpu]
    whole = truth[-1] / LENGTH
    assert scrapes[-1][1] / scrapes[-1][0] == pytest.approx(whole, rel=0.01)
    print(f"\n{on} s on, every {every:.0f} s: SMs active {whole:.3%}; rate over the run {scrapes[-1][1] / scrapes[-1][0]:.3%}")
    for apart in (15, 60):
        rates, means, worst = [], [], 0.0
        for got in scrapers(scrapes, apart):
            (begin, from_, _), (end, to, _) = got[0], got[-1]
            rates.append((to - from_) / (end - begin))
            means.append(statistics.fmean(g for _, _, g in got))
            really = (truth[round(end / TICK)] - truth[round(begin / TICK)]) / (end - begin)
            worst = max(worst, abs(rates[-1] / really - 1))
        off = max(abs(m / whole - 1) for m in means)
        print(f"  scraped every {apart} s: rate {min(rates):.2%} to {max(rates):.2%}, off by {worst:.2%} at most; "
              f"gauge {min(means):.2%} to {max(means):.2%}, off by {off:.0%}")
        assert worst < 0.01
        assert off > 0.2
