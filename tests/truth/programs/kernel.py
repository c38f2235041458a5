"""Programs whose first accepted limiter is kernel. `python3 run.py NAME SECONDS` runs one."""

from common import CUDA, until


def special_functions(seconds):
    """Arithmetic on values that stay in the cache: no memory traffic to speak of."""
    import torch
    x = torch.rand(1 << 21, device=CUDA)
    until(seconds, lambda: torch.special.zeta(x + 2, x + 1), batch=20)


def int8_layout(seconds):
    import torch
    a = torch.randint(-8, 8, (8192, 8192), dtype=torch.int8, device=CUDA)
    b = torch.randint(-8, 8, (8192, 8192), dtype=torch.int8, device=CUDA)
    until(seconds, lambda: torch._int_mm(a, b), batch=4)


def resnet(seconds):
    import torch
    from torch import nn
    import torchvision
    net = torchvision.models.resnet50().to(CUDA, memory_format=torch.channels_last)
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    x = torch.randn(256, 3, 224, 224, device=CUDA).to(memory_format=torch.channels_last)
    y = torch.randint(0, 1000, (256,), device=CUDA)

    def step():
        opt.zero_grad()
        with torch.autocast(CUDA, torch.bfloat16):
            loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        opt.step()

    until(seconds, step, batch=2)
