"""Whether assay why finds who holds a job up, and is silent where a job only pauses: real jobs of a few processes.

    hangs_bench.py PROGRAM [WATCH-SECONDS]
"""
import concurrent.futures
import itertools
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "hangs"))
import jobs  # noqa: E402

AT_A_TIME = 2
HANGS, PAUSES = 30, 30


def list_hangs():
    """(kind, ranks of the job, the rank that hangs), each kind with another one in turn. What needs swap runs alone."""
    kinds = [k for k in jobs.CAUSES if os.geteuid() == 0 or k not in jobs.NEEDS_ROOT]
    worlds = itertools.cycle((4, 5, 6, 8, 4, 7, 16))
    for number, kind in zip(range(HANGS), itertools.cycle(kinds)):
        world = next(worlds)
        yield kind, world, (3 * number + 1) % world


def list_pauses():
    for number, kind in zip(range(PAUSES), itertools.cycle(jobs.PAUSES)):
        yield kind, 4 + number % 3, "all" if kind == "sleeps" else (number % 4,)


def try_hang(program, watch, case):
    try:
        seconds, right, answer = jobs.hang(program, *case, watch=watch)
    except Exception as e:  # a machine that cannot make it
        return case, None, False, repr(e)
    return case, seconds, right, [(c["cause"], c["rank"], c["line"]) for c in answer["causes"]][:2]


def try_pause(program, watch, case):
    found, answer = jobs.pause(program, *case, watch=watch)
    return case, None, not found, (answer["outcome"], [(c["cause"], c["rank"]) for c in answer["causes"]][:2])


def main():
    program, watch = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 10
    alone = [c for c in list_hangs() if c[0] == "swapped"]
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        hangs = list(pool.map(lambda c: try_hang(program, watch, c), [c for c in list_hangs() if c not in alone]))
        pauses = list(pool.map(lambda c: try_pause(program, watch, c), list_pauses()))
    hangs += [try_hang(program, watch, c) for c in alone]
    for case, _, right, said in (*hangs, *pauses):
        if not right:
            print("  wrong:", case, said)
    times = [seconds for _, seconds, _, _ in hangs if seconds]
    print(f"{len(hangs)} hangs of {len({c[0] for c, *_ in hangs})} kinds: {sum(r for *_, r, _ in hangs)} with the right rank, cause and line (at least 27),"
          f" in {max(times):.0f} s at most (60)")
    print(f"{len(pauses)} pauses of {len({c[0] for c, *_ in pauses})} kinds: {sum(not r for *_, r, _ in pauses)} false words (at most 1)")


main()
