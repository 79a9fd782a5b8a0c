"""How good can a plain average of a still sequence's samples be? Bounds for docs/stages.md (downsample) and models/train/README.md (tables).

    averages.py SEQUENCE      still, output = 2 render, with a reference in its last frame: static_40

At output size: Gaussians about the output pixel's centre. At reconstruction size (1.5 times the output): Gaussians about its pixels, then the 3 -> 2
downsample with several weights and spaces. All samples of the first 32 frames count by distance alone; PSNR of metrics_np.display.
"""
import sys

import numpy as np

from metrics_np import display, psnr
from sequences import Sequence

FRAMES = 32
SPACES = {"logarithm": (lambda v: np.log(1 + 100 * v), lambda y: (np.exp(y) - 1) / 100),
          "cube root": (lambda v: np.cbrt(1 + 100 * v), lambda y: (y ** 3 - 1) / 100),
          "linear": (lambda v: v, lambda y: y)}


def average(s, size, sigma):
    """Mean in linear light of the samples about the pixels of a grid of `size` times the render size; sigma in its pixels."""
    w, h = s.render
    total, weight = np.zeros((int(h * size), int(w * size), 3)), np.zeros((int(h * size), int(w * size), 1))
    for frame in range(min(FRAMES, len(s))):
        color, jitter = s.color(frame), s.jitter(frame)
        at = [(np.arange(n) + 0.5) / size - j for n, j in ((total.shape[0], jitter[1]), (total.shape[1], jitter[0]))]
        base = [np.floor(a).astype(int) for a in at]
        for j in (-1, 0, 1):
            for i in (-1, 0, 1):
                d = [(b + o + 0.5 - a) * size / sigma for b, a, o in zip(base, at, (j, i))]
                k = (np.exp(-0.5 * d[0] ** 2)[:, None] * np.exp(-0.5 * d[1] ** 2)[None])[..., None]
                total += k * color[np.clip(base[0] + j, 0, h - 1)][:, np.clip(base[1] + i, 0, w - 1)]
                weight += k
    return total / weight


def downsample(image, near):
    """3 -> 2 along both axes: `near` of the closer pixel, the rest of the next one."""
    for axis in (0, 1):
        x = np.moveaxis(image, axis, 0)
        pairs = [near * x[0::3] + (1 - near) * x[1::3], (1 - near) * x[1::3] + near * x[2::3]]
        image = np.moveaxis(np.stack(pairs, 1).reshape(-1, *x.shape[1:]), 0, axis)
    return image


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    s = Sequence(sys.argv[1])
    if not s.still() or s.output != (2 * s.render[0], 2 * s.render[1]):
        sys.exit("averages.py: %s: not a still sequence at ratio 2" % sys.argv[1])
    reference = display(s.reference(len(s) - 1))
    for sigma in (0.25, 0.3, 0.35, 0.4, 0.5):
        print("output size, deviation %.2f output pixels: %.2f dB" % (sigma, psnr(display(average(s, 2, sigma)), reference)))
    best = {}
    for sigma in (0.3, 0.35, 0.375, 0.4, 0.425, 0.45):
        big = average(s, 3, sigma)
        for name, (lift, lower) in SPACES.items():
            for near in (2 / 3, 0.75, 0.78):
                value = psnr(display(lower(downsample(lift(big), near))), reference)
                best[name, near] = max(best.get((name, near), (0, 0)), (value, sigma))
    for (name, near), (value, sigma) in best.items():
        print("1.5 times the output, %s, weights %.2f and %.2f: %.2f dB (deviation %.3f of its pixels)" % (name, near, 1 - near, value, sigma))


if __name__ == "__main__":
    main()
