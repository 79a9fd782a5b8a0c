#!/usr/bin/env python3
"""Preset K's network in double precision with NumPy: the text of docs/preset_k.md, one function a step.

    k_network_ref.py WEIGHTS.safetensors TOKENS.npy PHASE OUT_DIR   runs the network, writes OUT_DIR/<layer>.npy
    k_network_ref.py WEIGHTS.safetensors --check PHASE DIR          computes each layer from DIR's input of that layer
                                                                    (tokens.npy, <layer>.npy) and compares with its output

Arrays are f16, [rows, columns, channels]. Two implementations in double precision round differently only where a value
lies on a rounding boundary to within 1e-15: the check fails when a layer has fewer than 99.99 % equal values. Needs NumPy
only. Widths and hidden channels are those of the tensors.
"""
import os
import sys

import numpy as np

from network_ref import act, read_safetensors

EPS = 1e-5
WINDOW = 8
LEVELS = {"enc0": 0, "enc1": 1, "enc2": 2, "enc3": 3, "enc4": 4, "dec5": 5, "dec4": 4, "dec3": 3, "dec2": 2, "dec1": 1,
          "dec0": 0}
LEAST_SAME = 0.9999


def half(values):
    """To the f16 grid: nearest even, finite values saturate at 65504."""
    return np.clip(values, -65504.0, 65504.0).astype(np.float16).astype(np.float64)


def shift_of(level, phase):
    shift = 5 * phase % 8
    for _ in range(level, 5):
        shift = (2 * shift + 4) % WINDOW
    return shift


def norm(x):
    return half(x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + EPS))


class Weights:
    def __init__(self, tensors):
        self.tensors = tensors

    def __contains__(self, name):
        return name + ".weight" in self.tensors

    def linear(self, name, x, bias=True):
        y = x @ half(self.tensors[name + ".weight"]).T
        return y + self.tensors[name + ".bias"] if bias else y

    def relative(self, name):
        """[head][key][query] from [head][225]."""
        token = np.arange(WINDOW * WINDOW)
        y, x = token // WINDOW, token % WINDOW
        offset = 15 * (y[:, None] - y[None, :] + 7) + (x[:, None] - x[None, :] + 7)
        return self.tensors[name + ".rel_bias"][:, offset]


def attention(weights, name, n, inside):
    """n [windows, 64, C], inside [windows, 64] -> o [windows, 64, C]."""
    c = n.shape[-1]
    heads = c // 32
    bias = weights.tensors[name + ".qv.bias"]
    q, k, v = np.split(weights.linear(name + ".qkv", n, bias=False), 3, axis=-1)
    q, k, v = (half(part).reshape(*part.shape[:2], heads, 32) for part in (q + bias[:c], k, v))
    score = np.einsum("wkhc,wqhc->whkq", k, q) + weights.relative(name)
    score = np.where(inside[:, None, :, None], score, -np.inf)
    p = 256 * np.exp2(score - score.max(axis=2, keepdims=True))
    o = np.einsum("whkq,wkhc->wqhc", half(p), v) / p.sum(axis=2).transpose(0, 2, 1)[..., None]
    return half(o.reshape(n.shape) + bias[c:])


def block_windows(weights, name, x, inside):
    x = x + weights.linear(name + ".proj", attention(weights, name, norm(x), inside), bias=False)
    u = half(act(weights.linear(name + ".mlp1", norm(x))))
    return x + weights.linear(name + ".mlp2", u, bias=False)


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


def merge(weights, name, x):
    """f: the 2x2 group, place q = 2 * (row & 1) + (column & 1) first, then the channel."""
    rows, columns, c = x.shape
    f = x.reshape(rows // 2, 2, columns // 2, 2, c).swapaxes(1, 2).reshape(rows // 2, columns // 2, 4 * c)
    return weights.linear(name, f)


def expand(weights, name, x, skip):
    rows, columns, _ = x.shape
    y = weights.linear(name, x)
    y = y.reshape(rows, columns, 2, 2, -1).swapaxes(1, 2).reshape(2 * rows, 2 * columns, -1)
    return y + skip


def layer(weights, name, x, skip, phase):
    if name + ".merge" in weights:
        x = merge(weights, name + ".merge", x)
    if name + ".expand" in weights:
        x = expand(weights, name + ".expand", x, skip)
    x = half(block(weights, name, x, shift_of(LEVELS[name], phase)))
    return half(weights.linear("head", x)) if name == "dec0" else x


def sources(name):
    """Names of the layer's input and of its skip."""
    order = list(LEVELS)
    index = order.index(name)
    skip = "enc" + name[3:] if name in order[6:] else None
    return "tokens" if index == 0 else order[index - 1], skip


def run(weights, tokens, phase):
    outputs = {"tokens": tokens.astype(np.float64)}
    for name in LEVELS:
        source, skip = sources(name)
        outputs[name] = layer(weights, name, outputs[source], outputs.get(skip), phase)
    return outputs


def check(weights, phase, folder):
    def load(name):
        return np.load(os.path.join(folder, name + ".npy")).astype(np.float64) if name else None

    good = True
    for name in LEVELS:
        source, skip = sources(name)
        expected = load(name)
        got = layer(weights, name, load(source), load(skip), phase)
        same = float(np.mean(got == expected))
        print(f"{name}: {100 * same:.4f} % of {got.size} values equal")
        good = good and got.shape == expected.shape and same >= LEAST_SAME
    return good


def main():
    if len(sys.argv) != 5:
        sys.stderr.write(__doc__)
        return 2
    weights = Weights(read_safetensors(sys.argv[1]))
    if sys.argv[2] == "--check":
        return 0 if check(weights, int(sys.argv[3]), sys.argv[4]) else 1
    outputs = run(weights, np.load(sys.argv[2]), int(sys.argv[3]))
    os.makedirs(sys.argv[4], exist_ok=True)
    for name, values in outputs.items():
        np.save(os.path.join(sys.argv[4], name + ".npy"), values.astype(np.float16))
    return 0


if __name__ == "__main__":
    sys.exit(main())
