"""PSNR, SSIM, tPSNR on display(x) = sRGB(x / (1 + x)), or on x itself where it is display-referred; FLIP where flip-evaluator
is installed."""
import sys

import numpy as np

NAMES = ("psnr", "ssim", "tpsnr", "flip")
_flip = []


def display(x, hdr=True):
    if not hdr:
        return np.clip(x, 0.0, 1.0)
    x = np.maximum(x, 0.0)
    y = np.clip(x / (1.0 + x), 0.0, 1.0)
    return np.where(y <= 0.0031308, 12.92 * y, 1.055 * np.maximum(y, 0.0031308) ** (1 / 2.4) - 0.055)


def psnr(a, b):
    return float(-10.0 * np.log10(max(float(np.mean((a - b) ** 2)), 1e-12)))


def blur(image):
    """11x11 Gaussian, sigma 1.5, valid region."""
    x = np.arange(11) - 5.0
    g = np.exp(-x * x / 4.5)
    g /= g.sum()
    rows = sum(g[i] * image[i:image.shape[0] - 10 + i] for i in range(11))
    return sum(g[i] * rows[:, i:rows.shape[1] - 10 + i] for i in range(11))


def ssim(a, b):
    """On Rec.709 luma."""
    luma = np.array([0.2126, 0.7152, 0.0722])
    a, b = a @ luma, b @ luma
    ma, mb = blur(a), blur(b)
    va, vb, cov = blur(a * a) - ma * ma, blur(b * b) - mb * mb, blur(a * b) - ma * mb
    return float(np.mean((2 * ma * mb + 1e-4) * (2 * cov + 9e-4) / ((ma * ma + mb * mb + 1e-4) * (va + vb + 9e-4))))


def flip_module():
    """flip_evaluator, or None and a word about it, once."""
    if not _flip:
        try:
            import flip_evaluator
            _flip.append(flip_evaluator)
        except ImportError as error:
            print("FLIP is left out: %s (it is in the Python package flip-evaluator)" % error, file=sys.stderr)
            _flip.append(None)
    return _flip[0]


def flip(output, reference):
    """Mean FLIP of two display-referred images; not a number without the package."""
    module = flip_module()
    if module is None:
        return float("nan")
    linear = lambda y: np.where(y <= 0.04045, y / 12.92, ((y + 0.055) / 1.055) ** 2.4).astype(np.float32)
    return float(module.evaluate(linear(reference), linear(output), "LDR", inputsRGB=False)[1])


class Scores:
    """Figures of a sequence's frames. Images are as the files hold them: linear, or display-referred with hdr=False."""

    def __init__(self, hdr=True, with_flip=True):
        self.hdr, self.with_flip, self.rows, self.before, self.curve = hdr, with_flip, [], None, []

    def add(self, index, output, reference, counted):
        """Every frame with a reference gives a point of the curve; the counted ones the means."""
        if reference is None:
            self.before = None
            return
        o, r = display(output, self.hdr), display(reference, self.hdr)
        self.curve.append((index, psnr(o, r)))
        if counted:
            t = psnr(o - self.before[0], r - self.before[1]) if self.before is not None else float("nan")
            self.rows.append((index, self.curve[-1][1], ssim(o, r), t, flip(o, r) if self.with_flip else float("nan")))
        self.before = (o, r)

    def mean(self):
        values = np.array([row[1:] for row in self.rows])
        finite = lambda v: float(np.mean(v[np.isfinite(v)])) if np.isfinite(v).any() else float("nan")
        return {name: finite(values[:, i]) for i, name in enumerate(NAMES)}
