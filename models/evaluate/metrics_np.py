"""PSNR, SSIM, tPSNR on display(x) = sRGB(x / (1 + x)); FLIP where flip-evaluator is installed."""
import numpy as np


def display(x):
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


def flip(a, b):
    """Mean FLIP of two display-referred images, or None without the package."""
    try:
        import flip_evaluator
    except ImportError:
        return None
    linear = lambda y: np.where(y <= 0.04045, y / 12.92, ((y + 0.055) / 1.055) ** 2.4).astype(np.float32)
    return float(flip_evaluator.evaluate(linear(b), linear(a), "LDR", inputsRGB=False)[1])


class Scores:
    """Means over a sequence's frames; images are linear."""

    def __init__(self):
        self.rows, self.before = [], None

    def add(self, index, output, reference, counted):
        if reference is None:
            self.before = None
            return
        o, r = display(output), display(reference)
        if counted:
            t = psnr(o - self.before[0], r - self.before[1]) if self.before is not None else float("nan")
            f = flip(o, r)
            self.rows.append((index, psnr(o, r), ssim(o, r), t, float("nan") if f is None else f))
        self.before = (o, r)

    def mean(self):
        values = np.array([row[1:] for row in self.rows])
        finite = lambda v: float(np.mean(v[np.isfinite(v)])) if np.isfinite(v).any() else float("nan")
        return {name: finite(values[:, i]) for i, name in enumerate(("psnr", "ssim", "tpsnr", "flip"))}
