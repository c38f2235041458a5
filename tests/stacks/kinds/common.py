"""What the programs share: they say which process holds the GPU, wait for a line, and do steps for as many seconds as they are told."""
import os
import sys
import time


def steps(holder=None):
    print(holder or os.getpid(), flush=True)
    sys.stdin.readline()
    step, end = 0, time.time() + float(sys.argv[1])
    while time.time() < end:
        yield step
        step += 1
