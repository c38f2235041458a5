"""Programs whose first accepted limiter is compute.int. `python3 run.py NAME SECONDS` runs one."""

from common import CUDA, until


def hash_int(seconds):
    """Integers only: rounds of shifts and exclusive ors, in registers."""
    import torch
    code = """template <typename T> T scramble(T x) {
        unsigned h = (unsigned)x;
        for (int i = 0; i < 400; i++) { h ^= h << 13; h ^= h >> 17; h ^= h << 5; }
        return (T)h; }"""
    scramble = torch.cuda.jiterator._create_jit_fn(code)
    x = torch.arange(1, 1 << 26, device=CUDA, dtype=torch.int32)
    until(seconds, lambda: scramble(x), batch=10)
