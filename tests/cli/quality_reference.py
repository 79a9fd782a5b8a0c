#!/usr/bin/env python3
"""Picture quality by its definition, in float64 NumPy, from the raw files: the truth for d4r-compare.

quality_reference.py PICTURES FRAMES_JSON   prints PSNR and SSIM of every frame with a reference
quality_reference.py --synthetic            prints the constants of test_metrics.c
quality_reference.py --check COMPARE_JSON PICTURES FRAMES_JSON   exit code 1 when d4r-compare's numbers differ
"""
import json
import os
import sys

try:
    import numpy as np
except ImportError:
    print("skipped: NumPy is not installed")
    sys.exit(77)


def display(v):
    v = np.maximum(v.astype(np.float64), 0)
    x = np.clip(v / (1 + v), 0, 1)
    return np.where(x <= 0.0031308, 12.92 * x, 1.055 * x ** (1 / 2.4) - 0.055)


def psnr(a, b):
    return -10 * np.log10(np.mean((a - b) ** 2))


def window():
    x = np.arange(11) - 5
    g = np.exp(-(x * x) / (2 * 1.5**2))
    w = np.outer(g, g)
    return w / w.sum()


def ssim(a, b):
    luma = np.array([0.2126, 0.7152, 0.0722])
    a, b, w = a @ luma, b @ luma, window()

    def mean(v):
        h, wd = v.shape
        out = np.zeros((h - 10, wd - 10))
        for i in range(11):
            for j in range(11):
                out += w[i, j] * v[i : i + h - 10, j : j + wd - 10]
        return out

    ma, mb = mean(a), mean(b)
    va, vb, cov = mean(a * a) - ma * ma, mean(b * b) - mb * mb, mean(a * b) - ma * mb
    c1, c2 = 0.01**2, 0.03**2
    return np.mean((2 * ma * mb + c1) * (2 * cov + c2) / ((ma * ma + mb * mb + c1) * (va + vb + c2)))


def read(path, size):
    return np.fromfile(path, "<f2").reshape(size[1], size[0], 4)[:, :, :3]


def scores(pictures, frames_json):
    frames = json.load(open(frames_json))
    folder = os.path.dirname(frames_json)
    result = {}
    for entry in json.load(open(os.path.join(pictures, "outputs.json")))["frames"]:
        reference = frames["frames"][entry["frame"]].get("reference")
        if reference:
            a = display(read(os.path.join(pictures, entry["raw"]), frames["output"]))
            b = display(read(os.path.join(folder, reference), frames["output"]))
            result[entry["frame"]] = (psnr(a, b), ssim(a, b))
    return result


def synthetic(seed, height=23, width=31):
    out = np.zeros(height * width * 3)
    for i in range(out.size):
        seed = (seed * 1664525 + 1013904223) & 0xFFFFFFFF
        out[i] = (seed >> 20) / 1024.0
    return out.reshape(height, width, 3)


if sys.argv[1] == "--synthetic":
    a, b, c, d = (display(synthetic(s)) for s in (1, 2, 3, 4))
    mixed = display(0.9 * synthetic(1) + 0.1 * synthetic(2))
    print("psnr %.6f  psnr(mixed) %.6f" % (psnr(a, b), psnr(a, mixed)))
    print("ssim %.6f  ssim(mixed) %.6f" % (ssim(a, b), ssim(a, mixed)))
    print("tpsnr %.6f" % psnr(a - c, b - d))
elif sys.argv[1] == "--check":
    theirs = {f["frame"]: f for f in json.load(open(sys.argv[2]))["frames"]}
    ours = scores(sys.argv[3], sys.argv[4])
    assert ours and set(ours) == set(theirs), "different frames"
    for frame, (p, s) in sorted(ours.items()):
        print("frame %d: PSNR %.4f against %.4f, SSIM %.6f against %.6f" % (frame, theirs[frame]["psnr"], p, theirs[frame]["ssim"], s))
        # The tool works in f32 display values: 1e-7 relative, far below the printed digits.
        assert abs(theirs[frame]["psnr"] - p) < 1e-3 and abs(theirs[frame]["ssim"] - s) < 1e-5
else:
    for frame, (p, s) in sorted(scores(sys.argv[1], sys.argv[2]).items()):
        print("frame %d  PSNR %.4f dB  SSIM %.5f" % (frame, p, s))
