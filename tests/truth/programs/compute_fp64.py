"""Programs whose first accepted limiter is compute.fp64. `python3 run.py NAME SECONDS` runs one."""

from common import CUDA, gemm, polynomial, until


def gemm_fp64(seconds):
    import torch
    gemm(seconds, torch.float64, n=4096, batch=4)


def fp64_functions(seconds):
    import torch
    x = torch.rand(1 << 26, dtype=torch.float64, device=CUDA)
    until(seconds, lambda: torch.sin_(x), batch=4)


def poly_fp64(seconds):
    """JAX: a polynomial of degree 256 in double precision, one kernel."""
    polynomial(seconds, "float64")


def erf_double(seconds):
    """An error function in double precision: arithmetic beyond what its eight bytes take."""
    import torch
    x = torch.rand(1 << 24, device=CUDA, dtype=torch.float64)
    until(seconds, lambda: [torch.special.erfcx(x) for _ in range(8)])
