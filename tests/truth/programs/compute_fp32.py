"""Programs whose first accepted limiter is compute.fp32. `python3 run.py NAME SECONDS` runs one."""
import time

from common import CUDA, gemm, until


def gemm_fp32(seconds):
    import torch
    torch.backends.cuda.matmul.allow_tf32 = False
    gemm(seconds, torch.float32, batch=2)


def conv_fp32(seconds):
    import torch
    from torch import nn
    torch.backends.cudnn.allow_tf32 = False
    net = nn.Conv2d(256, 256, 3, padding=1).to(CUDA)
    x = torch.randn(64, 256, 56, 56, device=CUDA)
    with torch.no_grad():
        until(seconds, lambda: net(x), batch=4)


def jax_nbody(seconds):
    """JAX: all pairs of 65,536 bodies, float32, one fused kernel a step."""
    import jax
    import jax.numpy as jnp

    @jax.jit
    def step(p, v):
        def pull(rows):
            dx, dy, dz = (p[None, :, k] - rows[:, None, k] for k in range(3))
            r = jax.lax.rsqrt(dx * dx + dy * dy + dz * dz + 1e-3)
            r = r * r * r
            return jnp.stack([(dx * r).sum(1), (dy * r).sum(1), (dz * r).sum(1)], 1)
        v = v + 1e-6 * jax.lax.map(pull, p.reshape(16, 4096, 3)).reshape(p.shape)
        return p + 1e-3 * v, v

    p = jax.random.normal(jax.random.PRNGKey(0), (65536, 3))
    v = jnp.zeros_like(p)
    p, v = step(p, v)
    p.block_until_ready()
    end = time.time() + seconds
    while time.time() < end:
        p, v = step(p, v)
        p.block_until_ready()


def conv3d(seconds):
    """Three-dimensional convolutions of a medical net in plain float32, no TF32."""
    import torch
    from torch import nn
    torch.backends.cudnn.allow_tf32 = False
    net = nn.Sequential(nn.Conv3d(32, 64, 3, padding=1), nn.ReLU(), nn.Conv3d(64, 64, 3, padding=1), nn.ReLU()).to(CUDA).eval()
    x = torch.randn(4, 32, 96, 96, 96, device=CUDA)
    with torch.inference_mode():
        until(seconds, lambda: net(x))


def conv_ieee(seconds):
    """Convolutions in single precision, without TF32."""
    import torch
    torch.backends.cudnn.allow_tf32 = False
    net = torch.nn.Conv2d(256, 256, 3, padding=1).to(CUDA)
    x = torch.rand(64, 256, 64, 64, device=CUDA)
    with torch.no_grad():
        until(seconds, lambda: net(x))


def jax_orbit(seconds):
    """A jitted product in single precision, waited for each time."""
    import jax
    import jax.numpy as jnp
    with jax.default_matmul_precision("highest"):
        orbit = jax.jit(lambda a: jnp.tanh(a @ a * 1e-4))
        a = jax.block_until_ready(orbit(jnp.ones((8192, 8192), jnp.float32)))
        end = time.time() + seconds
        while time.time() < end:
            a = orbit(a)
            a.block_until_ready()
