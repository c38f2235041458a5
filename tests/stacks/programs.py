"""Programs that count where their own time goes, line by line: `python3 programs.py NAME SECONDS`.

They run under every Python from 3.6 on. A line that ends in "# LINE name" is a place; what is done there lasts a tenth of a second and more, as batches,
files and steps do. A program prints "ready" and the numbers of its processes, waits for a line, works, and prints the seconds of each place and how
often it was there, its threads and processes added up. Time that is at no such place is "other".
"""
import json
import multiprocessing
import os
import sys
import threading
import time

DATA = json.dumps([{"a": i, "b": [1, 2, 3]} for i in range(400)])
ROWS = list(range(3000))[::-1] + list(range(3000))
NUMBERS = range(1500)

spent, times = {}, {}
adding = threading.Lock()


def note(name, seconds, n=1):
    with adding:
        spent[name] = spent.get(name, 0) + seconds
        times[name] = times.get(name, 0) + n


class counted:
    """The time inside is of that place."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        self.begin = time.time()
        return self

    def __exit__(self, *_):
        note(self.name, time.time() - self.begin)

    def __call__(self, seconds):
        return time.time() < self.begin + seconds


def parse(seconds):
    with counted("parse") as going:
        while going(seconds):
            json.loads(DATA)  # LINE parse


def add(seconds):
    with counted("add") as going:
        while going(seconds):
            sum([i * i for i in NUMBERS])  # LINE add


def rest(seconds):
    with counted("rest"):
        time.sleep(seconds)  # LINE rest


def order(seconds):
    with counted("order") as going:
        while going(seconds):
            sorted(ROWS, key=str)  # LINE order


def plain(seconds):
    """One thread, four places."""
    end = time.time() + seconds
    while time.time() < end:
        parse(0.21)
        add(0.13)
        rest(0.17)
        order(0.12)


# ---- threads ----

def threads(seconds):
    """Four that want the interpreter's lock at the same time, and a main thread that waits for them."""
    def work(activities):
        end = time.time() + seconds
        while time.time() < end:
            for activity, share in activities:
                activity(share)
    plans = [[(parse, 0.3), (rest, 0.3)], [(add, 0.2), (rest, 0.4)], [(order, 0.4), (parse, 0.2)], [(rest, 0.5)]]
    started = [threading.Thread(target=work, args=(p,)) for p in plans]
    for t in started:
        t.start()
    with counted("join"):
        for t in started:
            t.join()  # LINE join


def many_threads(seconds):
    """Thirty that rest, one that works, and a main thread that works by turns."""
    stop = threading.Event()

    def idle():
        with counted("idle"):
            stop.wait()  # LINE idle

    def work():
        end = time.time() + seconds
        while time.time() < end:
            add(0.2)
            rest(0.2)
    started = [threading.Thread(target=idle) for _ in range(30)] + [threading.Thread(target=work)]
    for t in started:
        t.start()
    plain(seconds)
    stop.set()
    for t in started:
        t.join()


# ---- frames that leave and come back ----

def generators(seconds):
    """What works is the innermost of three generators."""
    def values():
        while True:
            with counted("yielding") as going:
                while going(0.15):
                    sum([i * i for i in NUMBERS])  # LINE yielding
            yield 1

    def doubled(source):
        for v in source:
            with counted("doubling") as going:
                while going(0.1):
                    sorted(ROWS, key=str)  # LINE doubling
            yield 2 * v

    def delegating(source):
        yield from source
    end = time.time() + seconds
    for _ in delegating(doubled(values())):
        with counted("consuming") as going:
            while going(0.2):
                json.loads(DATA)  # LINE consuming
        if time.time() > end:
            break


def coroutines(seconds):
    """Two tasks of asyncio that work by turns, and the loop that waits between them."""
    import asyncio

    async def fetch():
        with counted("fetch") as going:
            while going(0.14):
                json.loads(DATA)  # LINE fetch

    async def store():
        with counted("store") as going:
            while going(0.1):
                sum([i * i for i in NUMBERS])  # LINE store

    async def main():
        end = time.time() + seconds
        while time.time() < end:
            await asyncio.gather(fetch(), store())
            await asyncio.sleep(0.16)
    loop = asyncio.new_event_loop()
    begin = time.time()
    loop.run_until_complete(main())  # LINE loop
    note("loop", time.time() - begin - spent["fetch"] - spent["store"])
    loop.close()


def recursion(seconds):
    """A thousand calls deep, in Python and through C."""
    sys.setrecursionlimit(20000)

    def down(depth, activity):
        if depth == 0:
            return activity()
        return down(depth - 1, activity)  # LINE down

    def through_c(depth, activity):
        if depth == 0:
            return activity()
        return max([depth], key=lambda d: through_c(d - 1, activity))

    def main():
        end = time.time() + seconds
        while time.time() < end:
            down(1000, lambda: parse(0.2))
            through_c(300, lambda: add(0.15))
            down(900, lambda: rest(0.12))
    threading.stack_size(256 << 20)
    deep = threading.Thread(target=main)
    begin = time.time()
    deep.start()
    deep.join()  # LINE wait
    note("wait", time.time() - begin)


def callbacks(seconds):
    """C code that calls back: sorted, map, reduce, a method of a class, and a signal's handler."""
    import functools
    import signal

    def key(row):
        return str(row * 3)  # LINE key

    class Number:
        def __init__(self, v):
            self.v = v

        def __lt__(self, other):
            return self.v < other.v  # LINE less
    numbers = [Number(v) for v in ROWS]
    ticks = []
    signal.signal(signal.SIGALRM, lambda *_: ticks.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    end = time.time() + seconds
    while time.time() < end:
        with counted("key") as going:
            while going(0.2):
                sorted(ROWS, key=key)  # LINE key
        with counted("less") as going:
            while going(0.15):
                sorted(numbers)  # LINE less
        with counted("map") as going:
            while going(0.12):
                list(map(lambda v: v * v, ROWS))  # LINE map
        with counted("reduce") as going:
            while going(0.13):
                functools.reduce(lambda a, b: a + b, ROWS)  # LINE reduce
    signal.setitimer(signal.ITIMER_REAL, 0)


def c_loop(seconds):
    """A loop in C, as uvloop's: an extension that calls Python, and sleeps without the interpreter's lock. LOOP_EXTENSION is its folder."""
    sys.path.insert(0, os.environ["LOOP_EXTENSION"])
    import loop_extension

    def ready():
        with counted("ready") as going:
            while going(0.14):
                json.loads(DATA)  # LINE ready

    def timer():
        with counted("timer") as going:
            while going(0.1):
                sum([i * i for i in NUMBERS])  # LINE timer
    begin = time.time()
    loop_extension.run([ready, timer], seconds, 0.11)  # LINE run
    note("run", time.time() - begin - spent["ready"] - spent["timer"])


def foreign_loop(seconds):
    """The same through ctypes, whose calls give the interpreter's lock back. LOOP_LIBRARY is the library."""
    import ctypes
    callback = ctypes.CFUNCTYPE(None)
    library = ctypes.CDLL(os.environ["LOOP_LIBRARY"])

    def called():
        with counted("called") as going:
            while going(0.17):
                sorted(ROWS, key=str)  # LINE called
    function = callback(called)
    begin = time.time()
    library.loop_run(function, ctypes.c_double(seconds), ctypes.c_double(0.13))  # LINE foreign
    note("foreign", time.time() - begin - spent["called"])


# ---- processes ----

def worker(seconds, go, out, kind):
    go.wait()
    spent.clear()
    times.clear()
    end = time.time() + seconds
    while time.time() < end:
        if kind % 2:
            parse(0.25)
            rest(0.15)
        else:
            add(0.2)
            order(0.15)
    out.put((dict(spent), dict(times)))


def workers(method):
    """Two workers; their main process waits for what they counted."""
    context = multiprocessing.get_context(method)
    go, out = context.Event(), context.Queue()
    seconds = float(sys.argv[2])
    started = [context.Process(target=worker, args=(seconds, go, out, kind)) for kind in range(2)]
    for p in started:
        p.start()

    def run(_):
        go.set()
        begin = time.time()
        for _ in started:
            seconds_there, times_there = out.get()  # LINE gather
            for name, s in seconds_there.items():
                note(name, s, times_there[name])
        for p in started:
            p.join()
        note("gather", time.time() - begin)
    return run, [p.pid for p in started]


# ---- starting other programs, and ending ----

def execs(seconds):
    """Becomes another program every two seconds: the same file, with what was counted so far."""
    begin, told = float(os.environ.get("BEGAN", time.time())), json.loads(os.environ.get("SPENT", "{}"))
    for name, (s, n) in told.items():
        note(name, s, n)
    now = time.time()
    if "WENT" in os.environ:
        note("other", now - float(os.environ["WENT"]))
    while time.time() < min(now + 2, begin + seconds):
        parse(0.21)
        rest(0.17)
    if time.time() < begin + seconds:
        os.environ.update(BEGAN=str(begin), SPENT=json.dumps({k: (v, times[k]) for k, v in spent.items()}), WENT=str(time.time()))
        os.execv(sys.executable, [sys.executable, __file__, "execs", str(seconds), "again"])


def exits(seconds):
    """Ends while it is read, in the middle of what it does."""
    threading.Timer(0.7 * seconds, lambda: (tell(), os._exit(0))).start()
    plain(seconds)


PROGRAMS = {f.__name__: f for f in (plain, threads, many_threads, generators, coroutines, recursion, callbacks, c_loop, foreign_loop, execs, exits)}
METHODS = ("fork", "spawn", "forkserver")


def tell():
    print(json.dumps({"spent": spent, "times": times}), flush=True)


def main():
    name, seconds = sys.argv[1], float(sys.argv[2])
    run, pids = workers(name) if name in METHODS else (PROGRAMS[name], [])
    if len(sys.argv) == 3:
        print("ready " + " ".join(map(str, [os.getpid()] + pids)), flush=True)
        sys.stdin.readline()
    run(seconds)
    tell()


if __name__ == "__main__":
    main()
