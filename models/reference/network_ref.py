#!/usr/bin/env python3
"""Preset M's network in double precision with NumPy: the text of docs/network.md, one function a step.

    network_ref.py WEIGHTS.safetensors TOKENS.npy OUT_DIR    runs the network, writes OUT_DIR/<layer>.npy
    network_ref.py WEIGHTS.safetensors --check DIR           computes each layer from DIR's input of that layer
                                                             (tokens.npy, <layer>.npy) and compares with its output

TOKENS.npy and the outputs are FP8 e4m3 codes, uint8, [rows, columns, channels]. The check fails when a layer has fewer
than 99.99 % identical codes. Needs NumPy only; the reader of safetensors is below.
"""
import json
import os
import sys

import numpy as np

EPS = 1e-5
WINDOW = 4
# name, block's level, channels, shift, fused merge, fused expand, input, skip
LAYERS = [
    ("enc1", 0, 64, 2, None, None, "tokens", None),
    ("enc2", 1, 96, 2, "merge1", None, "enc1", None),
    ("mid0", 2, 128, 2, "merge2", None, "enc2", None),
    ("mid1", 2, 128, 0, None, None, "mid0", None),
    ("mid2", 2, 128, 2, None, None, "mid1", None),
    ("mid3", 2, 128, 0, None, None, "mid2", None),
    ("mid4", 2, 128, 2, None, None, "mid3", None),
    ("mid5", 2, 128, 0, None, "expand2", "mid4", "enc2"),
    ("dec2", 1, 96, 0, None, "expand1", "mid5", "enc1"),
    ("dec1", 0, 64, 0, None, None, "dec2", None),
]
LEAST_SAME = 0.9999


# ---- FP8 e4m3 ------------------------------------------------------------------------------------------------------

def _decode_table():
    codes = np.arange(256)
    exponent, fraction = codes >> 3 & 15, codes & 7
    size = np.where(exponent == 0, fraction * 2.0**-9, (8 + fraction) * 2.0 ** (exponent - 10.0))
    size = np.where(codes & 0x7F == 0x7F, np.nan, size)
    return np.where(codes & 0x80, -size, size)


DECODE = _decode_table()


def decode(codes):
    return DECODE[codes]


def encode(values):
    """Nearest even, saturating at 448; NaN gives 0x7f or 0xff; the sign of zero is kept."""
    sign = np.where(np.signbit(values), 0x80, 0)
    size = np.minimum(np.abs(values), 448.0)
    nan = np.isnan(size)
    size = np.where(nan, 0.0, size)
    exponent = np.maximum(np.frexp(size)[1] - 1, -6)
    units = np.rint(np.ldexp(size, 3 - exponent)).astype(np.int64)  # 8..16 for normal values; rint is nearest even
    code = np.where(units < 8, units, (exponent + 7) * 8 + units - 8)
    return (sign | np.where(nan, 0x7F, code)).astype(np.uint8)


def rounded(values):
    return decode(encode(values))


# ---- weights -------------------------------------------------------------------------------------------------------

def read_safetensors(path):
    """All tensors as float64; F8_E4M3, F32, F16 and BF16."""
    with open(path, "rb") as file:
        data = file.read()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        first, last = entry["data_offsets"]
        raw = data[8 + size + first : 8 + size + last]
        kind = entry["dtype"]
        if kind == "F8_E4M3":
            values = decode(np.frombuffer(raw, np.uint8))
        elif kind == "BF16":
            values = (np.frombuffer(raw, "<u2").astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        else:
            values = np.frombuffer(raw, {"F32": "<f4", "F16": "<f2"}[kind]).astype(np.float64)
        tensors[name] = values.reshape(entry["shape"])
    return tensors


class Weights:
    """Matrices are rounded to FP8, as the packer does."""

    def __init__(self, tensors):
        self.tensors = tensors

    def linear(self, name, x):
        return x @ rounded(self.tensors[name + ".weight"]).T + self.tensors[name + ".bias"]

    def relative(self, name):
        """[head][key][query] from [head][49]."""
        token = np.arange(WINDOW * WINDOW)
        y, x = token // WINDOW, token % WINDOW
        offset = 7 * (y[:, None] - y[None, :] + 3) + (x[:, None] - x[None, :] + 3)
        return self.tensors[name + ".rel_bias"][:, offset]


# ---- the block -----------------------------------------------------------------------------------------------------

def norm(x):
    return rounded(x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + EPS))


def act(y):
    c = np.clip(y, -2.4, 2.4)
    return y * (0.5 + c * (0.412 - 0.081 * np.abs(c)))


def attention(weights, name, n, inside):
    """n [windows, 16, C], inside [windows, 16] -> o [windows, 16, C]."""
    heads = n.shape[-1] // 32
    qkv = rounded(weights.linear(name + ".qkv", n))
    q, k, v = (part.reshape(*part.shape[:2], heads, 32) for part in np.split(qkv, 3, axis=-1))
    score = np.einsum("wkhc,wqhc->whkq", k, q) / np.sqrt(32) + weights.relative(name)
    score = np.where(inside[:, None, :, None], score, -np.inf)
    p = 256 * np.exp(score - score.max(axis=2, keepdims=True))
    o = np.einsum("whkq,wkhc->wqhc", rounded(p), v) / p.sum(axis=2).transpose(0, 2, 1)[..., None]
    return rounded(o).reshape(n.shape)


def block_windows(weights, name, x, inside):
    x = x + weights.linear(name + ".proj", attention(weights, name, norm(x), inside))
    u = rounded(act(weights.linear(name + ".mlp1", norm(x))))
    return x + weights.linear(name + ".mlp2", u)


def block(weights, name, grid, shift):
    """grid [rows, columns, C], not rounded on return. Windows start at -shift; tokens outside are masked."""
    rows, columns, c = grid.shape
    pad = ((shift, -(rows + shift) % WINDOW), (shift, -(columns + shift) % WINDOW))
    inside = np.pad(np.ones((rows, columns), bool), pad)
    x = np.pad(grid, (*pad, (0, 0)))
    down, across = x.shape[0] // WINDOW, x.shape[1] // WINDOW

    def windows(a):
        a = a.reshape(down, WINDOW, across, WINDOW, -1).swapaxes(1, 2)
        return a.reshape(down * across, WINDOW * WINDOW, -1)

    y = block_windows(weights, name, windows(x), windows(inside)[..., 0])
    y = y.reshape(down, across, WINDOW, WINDOW, c).swapaxes(1, 2).reshape(x.shape)
    return y[shift : shift + rows, shift : shift + columns]


# ---- layers --------------------------------------------------------------------------------------------------------

def merge(weights, name, x):
    """fp8(W f + b): f is the 2x2 group, place q = 2 * (row & 1) + (column & 1) first, then the channel."""
    rows, columns, c = x.shape
    f = x.reshape(rows // 2, 2, columns // 2, 2, c).swapaxes(1, 2).reshape(rows // 2, columns // 2, 4 * c)
    return rounded(weights.linear(name, f))


def expand(weights, name, x, skip):
    """fp8(fp8(W fp8(x) + b) + skip) on the finer grid."""
    rows, columns, _ = x.shape
    y = rounded(weights.linear(name, rounded(x)))
    y = y.reshape(rows, columns, 2, 2, -1).swapaxes(1, 2).reshape(2 * rows, 2 * columns, -1)
    return y + decode(skip)


def layer(weights, description, codes, skip):
    name, _, _, shift, merged, expanded, _, _ = description
    x = decode(codes)
    if merged:
        x = merge(weights, merged, x)
    x = block(weights, name, x, shift)
    if expanded:
        x = expand(weights, expanded, x, skip)
    return encode(x)


def run(weights, tokens):
    """All layers' outputs by name."""
    outputs = {"tokens": tokens}
    for description in LAYERS:
        source, skip = description[6], description[7]
        outputs[description[0]] = layer(weights, description, outputs[source], outputs.get(skip))
    return outputs


def check(weights, folder):
    def load(name):
        return np.load(os.path.join(folder, name + ".npy")) if name else None

    good = True
    for description in LAYERS:
        name = description[0]
        expected = load(name)
        got = layer(weights, description, load(description[6]), load(description[7]))
        same = float(np.mean(got == expected))
        print(f"{name}: {100 * same:.4f} % of {got.size} codes identical")
        good = good and got.shape == expected.shape and same >= LEAST_SAME
    return good


def main():
    if len(sys.argv) != 4:
        sys.stderr.write(__doc__)
        return 2
    weights = Weights(read_safetensors(sys.argv[1]))
    if sys.argv[2] == "--check":
        return 0 if check(weights, sys.argv[3]) else 1
    outputs = run(weights, np.load(sys.argv[2]))
    os.makedirs(sys.argv[3], exist_ok=True)
    for name, codes in outputs.items():
        np.save(os.path.join(sys.argv[3], name + ".npy"), codes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
