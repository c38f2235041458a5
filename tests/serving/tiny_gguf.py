"""Writes a model of random numbers that llama.cpp's server loads: two layers, a vocabulary of bytes. `tiny_gguf.py FILE`."""
import random
import struct
import sys

EMBED, HEADS, FORWARD, LAYERS, CONTEXT = 64, 4, 128, 2, 2048
U32, F32, STRING, ARRAY, I32 = 4, 6, 8, 9, 5


def text(s):
    b = s.encode()
    return struct.pack("<Q", len(b)) + b


def value(kind, v):
    return text(v) if kind == STRING else struct.pack({U32: "<I", F32: "<f", I32: "<i"}[kind], v)


def pair(name, kind, v):
    if isinstance(v, list):
        return text(name) + struct.pack("<IIQ", ARRAY, kind, len(v)) + b"".join(value(kind, x) for x in v)
    return text(name) + struct.pack("<I", kind) + value(kind, v)


def write(path, seed=1):
    numbers = random.Random(seed)
    tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{i:02X}>" for i in range(256)]
    types = [2, 3, 3] + [6] * 256
    pairs = [("general.architecture", STRING, "llama"), ("general.name", STRING, "tiny"), ("llama.block_count", U32, LAYERS),
             ("llama.context_length", U32, CONTEXT), ("llama.embedding_length", U32, EMBED), ("llama.feed_forward_length", U32, FORWARD),
             ("llama.attention.head_count", U32, HEADS), ("llama.attention.head_count_kv", U32, HEADS), ("llama.rope.dimension_count", U32, EMBED // HEADS),
             ("llama.attention.layer_norm_rms_epsilon", F32, 1e-5), ("llama.vocab_size", U32, len(tokens)), ("tokenizer.ggml.model", STRING, "llama"),
             ("tokenizer.ggml.tokens", STRING, tokens), ("tokenizer.ggml.scores", F32, [0.0] * len(tokens)), ("tokenizer.ggml.token_type", I32, types),
             ("tokenizer.ggml.bos_token_id", U32, 1), ("tokenizer.ggml.eos_token_id", U32, 2), ("tokenizer.ggml.unknown_token_id", U32, 0)]
    tensors = [("token_embd.weight", (EMBED, len(tokens))), ("output_norm.weight", (EMBED,)), ("output.weight", (EMBED, len(tokens)))]
    for i in range(LAYERS):
        tensors += [(f"blk.{i}.{n}.weight", s) for n, s in (
            ("attn_norm", (EMBED,)), ("attn_q", (EMBED, EMBED)), ("attn_k", (EMBED, EMBED)), ("attn_v", (EMBED, EMBED)), ("attn_output", (EMBED, EMBED)),
            ("ffn_norm", (EMBED,)), ("ffn_gate", (EMBED, FORWARD)), ("ffn_up", (EMBED, FORWARD)), ("ffn_down", (FORWARD, EMBED)))]
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(pairs)) + b"".join(pair(*p) for p in pairs)
    body = b""
    for name, shape in tensors:
        n = 1
        for side in shape:
            n *= side
        head += text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape) + struct.pack("<IQ", 0, len(body))
        body += struct.pack(f"<{n}f", *([1.0] * n if len(shape) == 1 else [numbers.gauss(0, 0.1) for _ in range(n)]))
        body += b"\0" * (-len(body) % 32)
    head += b"\0" * (-len(head) % 32)
    with open(path, "wb") as f:
        f.write(head + body)


if __name__ == "__main__":
    write(sys.argv[1])
