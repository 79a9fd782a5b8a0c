#!/usr/bin/env python3
"""Preset K's stages in NumPy, from docs/stages_k.md: a second truth beside tests/stages/k_*_ref.c, and the simulation that chose the
neutral model's constants.

    k_stages_ref.py SEQUENCE... [--set gain=0.5 ...]    runs sequences with a constant head, prints PSNR and SSIM

Sequences in the layout of this project's test data: HDR, inverted depth, motion in render pixels.
"""
import argparse
import json
import os
import sys

import numpy as np

F = np.float32
# The neutral head: what a sub-block's eight values mean, not their logits.
NEUTRAL = {"column": 2.5, "row": 1.0, "gain": 1.0, "keep": 0.95, "show": 0.001, "own": 0.001, "clip": 0.5, "box": 2.5}


def compress(x):
    return 0.36 * np.log10(np.maximum(100 * x + 1, 1e-4))


def expand(y):
    return (10 ** (np.clip(y, 0, 3) / 0.36) - 1) / 100


def gaussians(precisions=(3.0, 6.0, 12.0, 24.0)):
    """16 shapes (A, B, C): column by precision; rows: long in x, round, long in y, diagonal."""
    rows = ((0.5, 2.0, 0.0), (1.0, 1.0, 0.0), (2.0, 0.5, 0.0), (1.0, 1.0, 0.5))
    return np.array([[a * p, b * p, c * p] for a, b, c in rows for p in precisions])


def make_tables(shapes):
    """lut.bin: [16 tables][64 phases][16 shapes][16 taps] f16."""
    rho = 0.5 + np.arange(16) * 3 / 28
    d = np.arange(4)[None, :] - 1 - (np.arange(8)[:, None] + 0.5) / 8  # [phase][tap]
    dx = np.broadcast_to(d[None, :, None, :], (8, 8, 4, 4)).reshape(64, 16)
    dy = np.broadcast_to(d[:, None, :, None], (8, 8, 4, 4)).reshape(64, 16)
    q = np.stack([dx * dx, dy * dy, 2 * dx * dy])  # [3][64][16]
    e = np.einsum("sk,kpt->pst", shapes, q)
    w = np.exp(-e[None] / 2 * rho[:, None, None, None] / 2)
    return (w * np.maximum(1 / 16000 / w.sum(-1, keepdims=True), 1)).astype(np.float16)


def table_of(render, output):
    i = (np.sqrt(output[0] / render[0] * output[1] / render[1]) - 0.5) * 28 / 3
    return int(np.clip(2 * np.ceil((i - 1) / 2), 0, 14))


def positions(n, render, output, jitter):
    """Base, phase position and own texel of n output pixels along an axis; f32 roundings as the shaders have them."""
    f = (np.arange(n, dtype=F) + F(0.5)) * F(render / output) - F(jitter)
    g = f - F(0.5)
    base = np.floor(g)
    phi = g - base
    base = base.astype(int)
    return base, phi, base + (phi >= 0.5)


def linear(image, x, y):
    """Bilinear at texel coordinates, clamped."""
    h, w = image.shape[:2]
    x, y = np.clip(x, 0.5, w - 0.5) - 0.5, np.clip(y, 0.5, h - 0.5) - 0.5
    i, j = np.floor(x).astype(int), np.floor(y).astype(int)
    s, t = (x - i)[..., None], (y - j)[..., None]
    i1, j1 = np.minimum(i + 1, w - 1), np.minimum(j + 1, h - 1)
    return (image[j, i] * (1 - s) + image[j, i1] * s) * (1 - t) + (image[j1, i] * (1 - s) + image[j1, i1] * s) * t


def cubic(q):
    base = np.floor(q - 0.5) + 0.5
    t = q - base
    w0, w3 = t * t - (t + t**3) / 2, (t**3 - t * t) / 2
    w1 = 1.5 * t**3 - 2.5 * t * t + 1
    w2 = 1 - w0 - w1 - w3
    return (base - 1, base + w2 / (w1 + w2), base + 2), (w0, w1 + w2, w3)


def catmull_rom(image, x, y):
    (px, wx), (py, wy) = cubic(x), cubic(y)
    total, result = 0, 0
    for i, j in ((0, 1), (1, 0), (1, 1), (1, 2), (2, 1)):
        w = wx[i] * wy[j]
        result = result + w[..., None] * linear(image, px[i], py[j])
        total = total + w
    return result / total[..., None]


def half(v):
    return v.astype(np.float16).astype(np.float64)


class Stages:
    """State of a stream. head: a dict of constants, or an array [rows][columns][40] a frame (of logits)."""

    def __init__(self, output, tables):
        self.output, self.tables = output, tables
        self.history = self.exposure = self.recurrent = None
        self.index, self.previous_jitter = 0, None

    def begin(self, color, depth, motion, jitter):
        """color [h][w][3], depth [h][w] inverted, motion [h][w][2] in render pixels."""
        h, w = depth.shape
        ow, oh = self.output
        self.reset = self.history is None
        self.color, self.jitter, self.render = np.clip(color.astype(np.float64), 0, 65504), jitter, (w, h)
        before = self.exposure
        if self.reset or self.index % 2 == 0:
            luma = np.clip(self.color @ [0.25, 0.5, 0.25], 0, 10000).mean()
            self.exposure = 0.23547077 / max(luma, 0.005)
        self.ratio = 1.0 if self.reset else self.exposure / before
        self.exposed = compress(np.minimum(self.color * self.exposure, 32752))
        self.own = half(np.clip(motion.astype(F) * F([ow / w, oh / h]), -65504, 65504))
        self.surface(np.clip(depth, 0, 1))
        self.index += 1

    def surface(self, near):
        """Motion of the nearest texel of 3x3, nearest and farthest depth, for every render texel."""
        h, w = near.shape
        self.nearest, self.farthest, self.dilated = near.copy(), near.copy(), self.own.copy()
        rows, columns = np.arange(h), np.arange(w)
        for j in (-1, 0, 1):
            for i in (-1, 0, 1):
                at = np.ix_(np.clip(rows + j, 0, h - 1), np.clip(columns + i, 0, w - 1))
                closer = near[at] > self.nearest
                self.nearest = np.where(closer, near[at], self.nearest)
                self.dilated = np.where(closer[..., None], self.own[at], self.dilated)
                self.farthest = np.minimum(self.farthest, near[at])

    def centres(self, count, size, render, jitter):
        """Of `count` sub-blocks along an axis: centre, nearest texel, where its sample lies (output pixels)."""
        p = np.minimum(2 * np.arange(count) + 1, size).astype(F)
        t = np.clip(np.floor(p * F(render / size) - F(jitter)), 0, render - 1)
        return p, t.astype(int), (t.astype(F) + F(0.5) + F(jitter)) * F(size / render)

    def read_history(self, q, read, fallback):
        """Colour (compressed, this exposure) and confidence at q [..., 2]."""
        plain = np.concatenate([fallback, np.zeros(fallback.shape[:-1] + (1,))], -1)
        if self.reset:
            return plain
        inside = ((q >= 0) & (q <= np.array(self.output))).all(-1)
        h = read(self.history, q[..., 0].astype(np.float64), q[..., 1].astype(np.float64))
        ok = inside & np.isfinite(h).all(-1)
        h = np.where(ok[..., None], h, 0)
        color = compress(np.minimum(expand(h[..., :3]) * self.ratio, 32752))
        return np.where(ok[..., None], np.concatenate([color, np.clip(h[..., 3:], 0, 64)], -1), plain)

    def features(self):
        """[rows][columns][32] of the tokens that lie in the output."""
        (ow, oh), (w, h) = self.output, self.render
        rows, columns = -(-oh // 4), -(-ow // 4)
        px, tx, lx = self.centres(2 * columns, ow, w, self.jitter[0])
        py, ty, ly = self.centres(2 * rows, oh, h, self.jitter[1])
        at = np.ix_(ty, tx)
        grid = lambda x, y: np.stack(np.broadcast_arrays(x[None, :], y[:, None]), -1)
        a, own, c = self.dilated[at], self.own[at], self.exposed[at]
        self.motion = a
        hist = self.read_history(grid(px, py) + a.astype(F), linear, c)
        there = self.read_history(grid(lx, ly) + a.astype(F), linear, c)
        blocks = lambda v: v.reshape(rows, 2, columns, 2, -1).transpose(0, 2, 1, 3, 4).reshape(rows, columns, 4, -1)
        luma = lambda v: blocks(v[..., :3] @ [0.25, 0.5, 0.25])[..., 0]
        chroma = lambda v: np.stack([(v[..., 0] - v[..., 2]) / 2, v[..., 1] / 2 - (v[..., 0] + v[..., 2]) / 4], -1)
        near, far = blocks(self.nearest[at])[..., 0], blocks(self.farthest[at])[..., 0]
        token_motion = np.take_along_axis(blocks(a), near.argmax(2)[..., None, None], 2)[:, :, 0]
        place = np.clip((lx - px) / 2, -2, 2), np.clip((ly - py) / 2, -2, 2)
        out = np.zeros((rows, columns, 32))
        out[..., 0:4], out[..., 4:6] = luma(c), chroma(blocks(c).mean(2))
        out[..., 6:10], out[..., 10:12] = luma(hist), chroma(blocks(hist).mean(2))
        out[..., 12:16] = luma(c) - luma(there)
        out[..., 16:18] = place[0].reshape(1, columns, 2)
        out[..., 18:20] = place[1].reshape(rows, 1, 2)
        centre = np.stack(np.meshgrid(4 * np.arange(columns) + 2.0, 4 * np.arange(rows) + 2.0), -1) + token_motion
        if not self.reset and self.recurrent is not None:
            inside = ((centre >= 0) & (centre <= [ow, oh])).all(-1)[..., None]
            out[..., 20:28] = np.where(inside, linear(self.recurrent, centre[..., 0] / 4, centre[..., 1] / 4), 0)
        out[..., 28] = 0.25 * np.log(1 + np.hypot(token_motion[..., 0], token_motion[..., 1]))
        difference = blocks(a - own)
        out[..., 29] = 0.25 * np.log(1 + np.hypot(difference[..., 0], difference[..., 1]).max(2))
        out[..., 30] = 1 - (far.min(2) + 1e-6) / (near.max(2) + 1e-6)
        n = blocks(hist[..., 3:])[..., 0]
        out[..., 31] = (n / (n + 4)).mean(2)
        return half(np.clip(np.where(np.isfinite(out), out, 0), -64, 64))

    def gates(self, head):
        """The eight gates as [oh][ow], and recurrent features, from logits; or constants."""
        if isinstance(head, dict):
            return head
        ow, oh = self.output
        rows, columns = -(-oh // 4), -(-ow // 4)
        v = np.where(np.isfinite(head), head, 0)[:rows, :columns].astype(np.float64)
        self.recurrent = half(np.tanh(v[..., 32:]))
        blocks = v[..., :32].reshape(rows, columns, 2, 2, 8).transpose(0, 2, 1, 3, 4).reshape(2 * rows, 2 * columns, 8)
        s = 1 / (1 + np.exp(-blocks.repeat(2, 0).repeat(2, 1)[:oh, :ow]))
        scale = (3, 3, 4, 1, 1, 1, 1, 4)
        names = ("column", "row", "gain", "keep", "show", "own", "clip", "box")
        return {name: s[..., i] * scale[i] for i, name in enumerate(names)}

    def weights(self, g, px, py):
        """[oh][ow][16] kernel weights."""
        table = self.tables[table_of(self.render, self.output)].astype(np.float64)
        phase = (8 * np.minimum(np.floor(8 * py), 7)[:, None] + np.minimum(np.floor(8 * px), 7)[None, :]).astype(int)
        a, b = np.broadcast_to(g["column"], phase.shape), np.broadcast_to(g["row"], phase.shape)
        i, j = np.minimum(np.floor(a), 2).astype(int), np.minimum(np.floor(b), 2).astype(int)
        s, t = (a - i)[..., None], (b - j)[..., None]
        top = table[phase, 4 * j + i] * (1 - s) + table[phase, 4 * j + i + 1] * s
        return top * (1 - t) + (table[phase, 4 * j + 4 + i] * (1 - s) + table[phase, 4 * j + 5 + i] * s) * t

    def resample(self, g):
        (ow, oh), (w, h) = self.output, self.render
        bx, px, tx = positions(ow, w, ow, self.jitter[0])
        by, py, ty = positions(oh, h, oh, self.jitter[1])
        kernel = self.weights(g, px, py)
        gx = np.exp(-((np.arange(-1, 3)[:, None] - px) ** 2) / (2 * 0.75**2))
        gy = np.exp(-((np.arange(-1, 3)[:, None] - py) ** 2) / (2 * 0.75**2))
        gx, gy = gx / gx.sum(0), gy / gy.sum(0)
        current, first, second = 0, 0, 0
        for k in range(16):
            j, i = divmod(k, 4)
            c = self.exposed[np.ix_(np.clip(by + j - 1, 0, h - 1), np.clip(bx + i - 1, 0, w - 1))]
            m = (gy[j][:, None] * gx[i][None, :])[..., None] * c
            current, first, second = current + kernel[..., k, None] * c, first + m, second + m * c
        weight = kernel.sum(-1)
        deviation = np.sqrt(np.maximum(second - first * first, 0))
        return current / weight[..., None], weight, first, deviation, (np.clip(ty, 0, h - 1), np.clip(tx, 0, w - 1))

    def reconstruct(self, head):
        """The output, linear without pre-exposure."""
        ow, oh = self.output
        g = self.gates(head)
        value = lambda name: np.broadcast_to(g[name], (oh, ow)).astype(np.float64)
        current, weight, mean, deviation, texel = self.resample(g)
        nearest = self.motion[np.arange(oh)[:, None] // 2, np.arange(ow)[None, :] // 2]
        own = self.own[np.ix_(*texel)]
        centre = np.stack(np.meshgrid(np.arange(ow) + 0.5, np.arange(oh) + 0.5), -1).astype(F)
        share = np.where(value("own") < 1 / 255, 0, np.where(value("own") > 254 / 255, 1, value("own")))[..., None]
        past = self.read_history(centre + nearest.astype(F), catmull_rom, current)
        if (share > 0).any():
            past = past + share * (self.read_history(centre + own.astype(F), catmull_rom, current) - past)
        box = value("box")[..., None] * deviation
        color = past[..., :3]
        color = color + value("clip")[..., None] * (np.clip(color, mean - box, mean + box) - color)
        now, before = weight * value("gain"), past[..., 3] * value("keep")
        a = (now / np.maximum(before + now, 1e-6))[..., None]
        old, new = expand(color), expand(current)
        kept = old + (new - old) * a
        shown = old + (new - old) * (a + (1 - a) * value("show")[..., None])
        self.history = half(np.concatenate([compress(kept), np.minimum(before + now, 64)[..., None]], -1))
        self.previous_jitter = self.jitter
        return np.clip(shown / self.exposure, 0, 65504)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, os.path.join(here, "..", "evaluate"))
    from metrics_np import display, psnr, ssim

    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("sequences", nargs="+")
    p.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="gates other than the neutral ones")
    p.add_argument("--precisions", type=float, nargs=4, default=(3.0, 6.0, 12.0, 24.0))
    args = p.parse_args()
    head = dict(NEUTRAL, **{k: float(v) for k, v in (s.split("=") for s in args.set)})
    tables = make_tables(gaussians(args.precisions))
    for folder in args.sequences:
        with open(os.path.join(folder, "frames.json")) as f:
            info = json.load(f)
        output, scores = tuple(info["output"]), []
        stages = Stages(output, tables)
        read = lambda name, kind, n, size: np.fromfile(os.path.join(folder, name), kind).reshape(size[1], size[0], n).astype(F)
        references = [i for i, f in enumerate(info["frames"]) if f.get("reference")]
        start = max(4, references[0])
        for i, frame in enumerate(info["frames"]):
            size = frame["render"]
            stages.begin(read(frame["color"], "<f2", 4, size)[..., :3], read(frame["depth"], "<f4", 1, size)[..., 0],
                         read(frame["motion"], "<f2", 2, size), frame["jitter"])
            stages.features()
            image = stages.reconstruct(head)
            if i >= start and frame.get("reference"):
                want = display(read(frame["reference"], "<f2", 4, output)[..., :3])
                got = display(image)
                scores.append((psnr(got, want), ssim(got, want)))
        print(f"{os.path.basename(folder):14s} PSNR {np.mean([s[0] for s in scores]):.2f} SSIM {np.mean([s[1] for s in scores]):.4f}", flush=True)


if __name__ == "__main__":
    main()
