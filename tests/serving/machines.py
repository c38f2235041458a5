"""What a server is made of, from sheets of GPUs and models: how fast weights are read, prompts are worked on, and how much
the cache holds."""
COMPUTE, MEMORY = 0.65, 0.85  # of the peaks, that kernels reach

# dense BF16 TFLOP/s, TB/s, GB, watts, and what the counters reach when a unit is the limit
CARDS = {
    "L4": ("NVIDIA L4", 121, 0.30, 24, 72, 0.80, 0.86),
    "A10": ("NVIDIA A10", 125, 0.60, 24, 150, 0.80, 0.86),
    "L40S": ("NVIDIA L40S", 362, 0.864, 48, 350, 0.75, 0.88),
    "4090": ("NVIDIA GeForce RTX 4090", 165, 1.008, 24, 450, 0.80, 0.90),
    "A100": ("NVIDIA A100-SXM4-80GB", 312, 2.04, 80, 400, 0.82, 0.85),
    "A100-40": ("NVIDIA A100-SXM4-40GB", 312, 1.555, 40, 400, 0.82, 0.85),
    "H100": ("NVIDIA H100 80GB HBM3", 989, 3.35, 80, 700, 0.63, 0.85),
    "GH200": ("NVIDIA GH200 480GB", 989, 4.0, 96, 700, 0.63, 0.82),
    "H200": ("NVIDIA H200", 989, 4.8, 141, 700, 0.63, 0.80),
    "B200": ("NVIDIA B200", 2250, 7.7, 180, 1000, 0.60, 0.78),
}
# parameters, bytes of cache a token
MODELS = {"0.5B": (0.5e9, 12288), "1.5B": (1.5e9, 28672), "3B": (3e9, 36864), "7B": (7e9, 57344), "7B-MHA": (7e9, 524288),
          "8B": (8e9, 131072), "13B": (13e9, 819200), "32B": (32e9, 262144), "70B": (70e9, 327680)}


def machine(card, model, gpus=1, width=2, memory=0.9, **load):
    """Parameters of a Load. width: bytes a weight; memory: the share that the engine takes."""
    name, tflops, tb, gb, watts, tensor_top, dram_top = CARDS[card]
    parameters, cached = MODELS[model]
    moved = gpus * tb * 1e12 * MEMORY
    return dict(dict(weights=parameters * width / moved, per_sequence=100 * cached / moved, prefill=gpus * tflops * 1e12 * COMPUTE / (2 * parameters),
                     cache=int((gpus * gb * 1e9 * memory - parameters * width) / cached), share=1.0, gpus=gpus, card=name, power=watts,
                     tensor_top=tensor_top, dram_top=dram_top, counters=card != "4090", launch=0.0003, warm=60.0), **load)
