"""Dumps of the rotary embeddings that PyTorch code computes, for props/frameworks_test.c.

usage: torch_dumps.py DIRECTORY

Writes NAME_in.npy and NAME_out.npy for each case, and cases.tsv: name, positions, spec. The forms are
those of Hugging Face's modeling code (cos and sin cast to the data's type, every product rounded),
Meta's (complex numbers in f32) and fused kernels' (tables of the data's type, f32 arithmetic).
"""

import math
import os
import sys

import numpy as np
import torch


def plain(d, base):
    return 1.0 / (base ** (torch.arange(0, d, 2, dtype=torch.int64).float() / d))


def llama3(d, base, factor, low=1.0, high=4.0, length=8192):
    inverse = plain(d, base)
    wavelength = 2 * math.pi / inverse
    scaled = torch.where(wavelength > length / low, inverse / factor, inverse)
    smooth = (length / wavelength - low) / (high - low)
    blend = (1 - smooth) * scaled / factor + smooth * scaled
    middle = ~(wavelength < length / high) * ~(wavelength > length / low)
    return torch.where(middle, blend, scaled)


def yarn(d, base, factor, length, truncate=True):
    def at(turns):
        return d * math.log(length / (turns * 2 * math.pi)) / (2 * math.log(base))

    low, high = at(32), at(1)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, d - 1)
    powers = base ** (torch.arange(0, d, 2).float() / d)
    ramp = torch.clamp((torch.arange(d // 2, dtype=torch.float32) - low) / (high - low), 0, 1)
    keep = 1 - ramp
    return 1.0 / (factor * powers) * (1 - keep) + 1.0 / powers * keep


def rotate_half(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), -1)


def hugging_face(x, inverse, factor, positions):
    angles = torch.outer(positions.float(), inverse)
    angles = torch.cat((angles, angles), -1)
    cos = (angles.cos() * factor).to(x.dtype)[:, None]
    sin = (angles.sin() * factor).to(x.dtype)[:, None]
    return x * cos + rotate_half(x) * sin


def meta(x, inverse, factor, positions):
    angles = torch.outer(positions.float(), inverse)
    turns = torch.polar(torch.ones_like(angles), angles)[:, None]
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turns).flatten(2).type_as(x)


def fused(x, inverse, factor, positions):
    angles = torch.outer(positions.float(), inverse)
    cos = (angles.cos() * factor).to(x.dtype).float()[:, None]
    sin = (angles.sin() * factor).to(x.dtype).float()[:, None]
    half = x.shape[-1] // 2
    a, b = x[..., :half].float(), x[..., half:].float()
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1).to(x.dtype)


def save(path, tensor):
    tensor = tensor.contiguous()
    if tensor.dtype == torch.bfloat16:
        np.save(path, tensor.view(torch.int16).numpy().view(np.uint16))
    else:
        np.save(path, tensor.numpy())


def scalings(d):
    yield "plain", "base=10000", plain(d, 10000.0), 1.0
    yield ("llama3", "base=500000,scaling=llama3,factor=32,low=1,high=4,original=8192",
           llama3(d, 500000.0, 32.0), 1.0)
    yield ("yarn", "base=1000000,scaling=yarn,factor=4,original=32768",
           yarn(d, 1e6, 4.0, 32768), 0.1 * math.log(4) + 1)
    yield ("gptoss", "base=150000,scaling=yarn,factor=32,original=4096,truncate=0",
           yarn(d, 150000.0, 32.0, 4096, False), 0.1 * math.log(32) + 1)


def main(directory):
    os.makedirs(directory, exist_ok=True)
    torch.manual_seed(1)
    near = list(range(10))
    far = [0, 1, 5, 100, 2047, 8191, 20000, 65535, 104729, 131071]
    dtypes = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
    count = 0
    with open(os.path.join(directory, "cases.tsv"), "w") as cases:
        for d in (64, 80, 96, 128):
            for scaling, keys, inverse, factor in scalings(d):
                for dtype_name, dtype in dtypes.items():
                    for form in (hugging_face, meta, fused):
                        if form is meta and factor != 1.0 or form is fused and dtype_name == "f32":
                            continue
                        count += 1
                        positions = far if count % 3 else near
                        x = torch.randn(len(positions), 4, d).to(dtype)
                        y = form(x, inverse, factor, torch.tensor(positions))
                        name = f"{form.__name__}-{d}-{scaling}-{dtype_name}"
                        save(os.path.join(directory, name + "_in.npy"), x)
                        save(os.path.join(directory, name + "_out.npy"), y)
                        pairing = "interleaved" if form is meta else "half"
                        listed = ",".join(map(str, positions))
                        cases.write(f"{name}\t{listed}\thead_dim={d},pairing={pairing},{keys}\n")


if __name__ == "__main__":
    main(sys.argv[1])
