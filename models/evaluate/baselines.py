"""What a model must beat: jitter-aware bilinear and bicubic, and a temporal accumulator with neighbourhood clamping."""
import numpy as np


def taps(n, size, offset, cubic):
    """Matrix [n, size] of a separable resize; output i samples input coordinate (i + .5) size / n - offset."""
    f = (np.arange(n) + 0.5) * size / n - offset - 0.5
    base = np.floor(f).astype(int)
    t, m = f - base, np.zeros((n, size))
    for k in range(-1, 3):
        d = np.abs(k - t)
        if cubic:
            w = np.where(d <= 1, 1.5 * d ** 3 - 2.5 * d ** 2 + 1, np.where(d < 2, -0.5 * d ** 3 + 2.5 * d ** 2 - 4 * d + 2, 0.0))
        else:
            w = np.maximum(1 - d, 0.0)
        np.add.at(m, (np.arange(n), np.clip(base + k, 0, size - 1)), w)
    return m


def resize(image, output, jitter, cubic):
    """image [h,w,c] sampled at pixel centres + jitter -> [H,W,c]"""
    w, h = output
    my, mx = taps(h, image.shape[0], jitter[1], cubic), taps(w, image.shape[1], jitter[0], cubic)
    return np.einsum("Yy,yxc,Xx->YXc", my, image, mx, optimize=True)


def sample(image, x, y):
    """Bilinear at texel coordinates (centres at + .5), clamped to the edge."""
    h, w, _ = image.shape
    x, y = np.clip(x - 0.5, 0, w - 1), np.clip(y - 0.5, 0, h - 1)
    x0, y0 = np.floor(x).astype(int), np.floor(y).astype(int)
    x1, y1 = np.minimum(x0 + 1, w - 1), np.minimum(y0 + 1, h - 1)
    tx, ty = (x - x0)[..., None], (y - y0)[..., None]
    top = image[y0, x0] * (1 - tx) + image[y0, x1] * tx
    bottom = image[y1, x0] * (1 - tx) + image[y1, x1] * tx
    return top * (1 - ty) + bottom * ty


def neighbourhood(image, reduce):
    padded = np.pad(image, ((1, 1), (1, 1), (0, 0)), mode="edge")
    h, w, _ = image.shape
    return reduce([padded[j:j + h, i:i + w] for j in range(3) for i in range(3)])


def dilated(depth, motion):
    """Motion at the nearest depth of 3x3."""
    h, w = depth.shape
    d, m = np.pad(depth, 1, mode="edge"), np.pad(motion, ((1, 1), (1, 1), (0, 0)), mode="edge")
    best, out = depth.copy(), motion.copy()
    for j in range(3):
        for i in range(3):
            nearer = d[j:j + h, i:i + w] > best
            best = np.where(nearer, d[j:j + h, i:i + w], best)
            out = np.where(nearer[..., None], m[j:j + h, i:i + w], out)
    return out


def spatial(color, output, jitter, cubic, hdr=True):
    """Bilinear or bicubic in linear light; display-referred colour has gamma 2.2."""
    if not hdr:
        return np.clip(resize(np.clip(color, 0, 1) ** 2.2, output, jitter, cubic), 0, 1) ** (1 / 2.2)
    return np.maximum(resize(color, output, jitter, cubic), 0)


class Taau:
    """Accumulates on x / (1 + x), or on display-referred colour as it is: a sample counts by its distance to the output pixel's centre."""

    def __init__(self, output, share=0.15, clamp=True, hdr=True):
        self.output, self.share, self.clamp, self.hdr, self.history = output, share, clamp, hdr, None

    def __call__(self, color, depth, motion, jitter):
        (w, h), (rh, rw, _) = self.output, color.shape
        c = np.maximum(color, 0)
        c = c / (1 + c) if self.hdr else np.minimum(c, 1)
        x, y = np.meshgrid((np.arange(w) + 0.5) * rw / w, (np.arange(h) + 0.5) * rh / h)
        fx, fy = x - jitter[0], y - jitter[1]
        ix, iy = np.clip(np.floor(fx).astype(int), 0, rw - 1), np.clip(np.floor(fy).astype(int), 0, rh - 1)
        current = resize(c, self.output, jitter, False)
        if self.history is None:
            self.history = current
        else:
            m = dilated(depth, motion)[iy, ix]
            px, py = (x + m[..., 0]) * w / rw, (y + m[..., 1]) * h / rh
            past = sample(self.history, px, py)
            outside = (px < 0) | (py < 0) | (px > w) | (py > h)
            if self.clamp:
                lo, hi = neighbourhood(c, np.minimum.reduce), neighbourhood(c, np.maximum.reduce)
                past = np.clip(past, lo[iy, ix], hi[iy, ix])
            near = np.exp(-3.0 * ((ix + 0.5 - fx) ** 2 + (iy + 0.5 - fy) ** 2) * (w / rw) * (h / rh) / 4)
            weight = np.where(outside, 1.0, self.share * near * 2)[..., None].clip(0, 1)
            self.history = past + (c[iy, ix] * 0.7 + current * 0.3 - past) * weight
        out = np.clip(self.history, 0, 0.9999 if self.hdr else 1)
        return out / (1 - out) if self.hdr else out
