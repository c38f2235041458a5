"""Pairs of runs whose step times misbehave in other ways than the recordings' do, for `assay diff`.

Each shape is a program one meets: its steps drift, stall, come in two lengths. The sides have different numbers of
steps, and runs differ by 0.3 % as wholes. The mean of a shape is 1, so that the change between the sides is known.

    diff_shapes.py PAIRS      (the package and its library must be found: PYTHONPATH, ASSAY_LIB)
"""
import math
import pathlib
import random
import sys
import tempfile

BETWEEN_RUNS = 0.003
STEPS = 150, 1000  # a side has so many, at least and at most
CHANGES = 0, 0.05


def quiet(rng, n):
    return [rng.gauss(1, 0.01) for _ in range(n)]


def drift(rng, n):
    """A GPU that gets warmer: 3 % from the first step to the last."""
    return [rng.gauss(1, 0.01) + 0.03 * (i / n - 0.5) for i in range(n)]


def waves(rng, n):
    """A neighbour on the machine: slow waves of 2 %."""
    x, out = rng.gauss(0, 0.02), []
    for _ in range(n):
        x = 0.95 * x + rng.gauss(0, 0.02 * math.sqrt(1 - 0.95 ** 2))
        out.append(1 + x)
    return out


def regimes(rng, n):
    """Two clocks, 4 % apart, for some 25 steps each."""
    side, out = rng.choice((-1, 1)), []
    for _ in range(n):
        side = -side if rng.random() < 1 / 25 else side
        out.append(1 + 0.02 * side + rng.gauss(0, 0.003))
    return out


def lengths(rng, n):
    """Short and long batches."""
    return [(0.9 if rng.random() < 0.7 else 1 + 0.7 / 3) * rng.gauss(1, 0.01) for _ in range(n)]


def bursts(rng, n):
    """Stalls in groups of some eight steps that take half as long again; 4 % of the steps."""
    stalls, out = rng.random() < 0.04, []
    for _ in range(n):
        stalls = rng.random() < (7 / 8 if stalls else 0.04 / 0.96 / 8)
        out.append((1.5 if stalls else 1) / 1.02 * rng.gauss(1, 0.01))
    return out


def tails(rng, n):
    """Now and then far longer: lognormal, 15 %."""
    return [rng.lognormvariate(-0.15 ** 2 / 2, 0.15) for _ in range(n)]


def checkpoints(rng, n):
    """Each fiftieth step writes a checkpoint and takes three times as long, wherever the run begins."""
    at = rng.randrange(50)
    return [(3 if (i + at) % 50 == 0 else 1) / 1.04 * rng.gauss(1, 0.01) for i in range(n)]


def sawtooth(rng, n):
    """A heap that fills: 10 % longer over 37 steps, then collected."""
    at = rng.randrange(37)
    return [1 + 0.1 * ((i + at) % 37 / 36 - 0.5) + rng.gauss(0, 0.01) for i in range(n)]


SHAPES = quiet, drift, waves, regimes, lengths, bursts, tails, checkpoints, sawtooth


def write(path, rng, shape, mean):
    mean *= 1 + rng.gauss(0, BETWEEN_RUNS)
    at = 0
    with open(path, "w", encoding="ascii") as log:
        for step in shape(rng, rng.randint(*STEPS)):
            at += step * mean
            ts = f"2026-01-01T00:{int(at // 60):02}:{at % 60:06.3f}+00:00"
            log.write(f'{{"ts":"{ts}","type":"phase","name":"step","seconds":{step * mean:.6f}}}\n')


def score(shape, change, pairs, folder):
    """Shares of the pairs: words, and intervals that cover the change."""
    import assay  # pylint: disable=import-outside-toplevel
    rng = random.Random(f"{shape.__name__} {change}")
    count = dict.fromkeys(("slower", "faster", "no difference", "inconclusive", "covered"), 0)
    for _ in range(pairs):
        base, new = folder / "base.jsonl", folder / "new.jsonl"
        write(base, rng, shape, 0.1)
        write(new, rng, shape, 0.1 * (1 + change))
        told = assay.diff(base, new).to_dict()
        row = next(r for r in told["rows"] if r["name"] == "step")
        count[told["verdict"]] += 1
        count["covered"] += row["low"] <= change <= row["high"]
    return {word: n / pairs for word, n in count.items()}


def table(pairs):
    """Rows of shape, change and shares."""
    with tempfile.TemporaryDirectory() as folder:
        for shape in SHAPES:
            for change in CHANGES:
                yield shape.__name__, change, score(shape, change, pairs, pathlib.Path(folder))


def show(row):
    name, change, shares = row
    cells = " | ".join(f"{100 * shares[w]:.1f} %" for w in ("slower", "faster", "no difference", "inconclusive", "covered"))
    return f"| {name} | {100 * change:.0f} % | {cells} |"


def main():
    print("| steps | change | slower | faster | no difference | inconclusive | interval covers it |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for row in table(int(sys.argv[1])):
        print(show(row), flush=True)


if __name__ == "__main__":
    main()
