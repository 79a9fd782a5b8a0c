"""The stages around the network in plain PyTorch: slow, and the check of native/stages.h, values and gradients."""
import math

import torch

from native import E1, E2, HISTORY, JITTER, PREVIOUS_JITTER

SCALE = 0.36 / math.log(10.0)


def compress(x):
    return torch.log((100 * x + 1).clamp_min(1e-4)) * SCALE


def expand(v):
    return (torch.exp(v.clamp(1e-4, 3.0) / SCALE) - 1) * 0.01


def gather(image, x, y):
    """image [B,C,h,w], integer x, y [B,...] clamped to the edge -> [B,C,...]"""
    b, c, h, w = image.shape
    at = y.long().clamp(0, h - 1) * w + x.long().clamp(0, w - 1)
    flat = at.reshape(b, 1, -1).expand(b, c, -1)
    return image.reshape(b, c, h * w).gather(2, flat).reshape(b, c, *at.shape[1:])


def linear(image, x, y):
    """Bilinear at texel coordinates (centres at + .5)."""
    x, y = x - 0.5, y - 0.5
    x0, y0 = torch.floor(x), torch.floor(y)
    tx, ty = (x - x0)[:, None], (y - y0)[:, None]
    top = gather(image, x0, y0) * (1 - tx) + gather(image, x0 + 1, y0) * tx
    bottom = gather(image, x0, y0 + 1) * (1 - tx) + gather(image, x0 + 1, y0 + 1) * tx
    return top * (1 - ty) + bottom * ty


def per_sample(params, index):
    return params[:, index][:, None, None]


def grid(geometry, like, reconstruction):
    w, h = (geometry.rw, geometry.rh) if reconstruction else (geometry.w, geometry.h)
    x = torch.arange(w, dtype=like.dtype) + 0.5
    y = torch.arange(h, dtype=like.dtype) + 0.5
    return x[None, None, :].expand(like.shape[0], h, w), y[None, :, None].expand(like.shape[0], h, w)


def on_screen(geometry, params, x, y):
    return (per_sample(params, HISTORY) > 0) & (x >= 0) & (y >= 0) & (x <= geometry.rw) & (y <= geometry.rh)


def features(geometry, color, motion_a, motion_b, motion_c, half, feature, previous_a, params):
    """Without the dither."""
    g, p = geometry, lambda i: per_sample(params, i)
    x, y = grid(g, color, False)
    jx, jy, ratio = p(JITTER), p(JITTER + 1), (p(E1) / p(E2))[:, None]
    slots = [color]
    for motion, jitter in ((motion_a, 1), (motion_c, 1), (motion_b, 1), (motion_c, 0)):
        qx, qy = (x + jx * jitter + motion[:, 0]) * g.sx, (y + jy * jitter + motion[:, 1]) * g.sy
        value = compress((expand(linear(half, qx * 0.5, qy * 0.5)) * ratio).clamp_max(32752.0))
        slots.append(torch.where(on_screen(g, params, qx, qy)[:, None], value, color))
    qx, qy = (x + jx + motion_a[:, 0]) * g.sx, (y + jy + motion_a[:, 1]) * g.sy
    recurrent = linear(feature, qx / g.sx - p(PREVIOUS_JITTER), qy / g.sy - p(PREVIOUS_JITTER + 1))
    recurrent = torch.where(on_screen(g, params, qx, qy)[:, None], recurrent, torch.zeros_like(recurrent))
    ux = (x + jx - p(PREVIOUS_JITTER) + motion_a[:, 0]).clamp(0, g.w)
    uy = (y + jy - p(PREVIOUS_JITTER + 1) + motion_a[:, 1]).clamp(0, g.h)
    change = (motion_a - linear(previous_a, ux, uy)).square().sum(1, keepdim=True).sqrt()
    change = 0.22357 * torch.log(1 + 9.045 * (540 / g.h) * change) * (p(HISTORY) > 0)[:, None]
    return torch.cat(slots + [recurrent, change], 1).permute(0, 2, 3, 1), recurrent


def catmull_rom(image, x, y):
    bx, by = torch.floor(x - 0.5) + 0.5, torch.floor(y - 0.5) + 0.5

    def weights(t):
        w0, w1, w3 = t ** 2 - (t + t ** 3) / 2, 1.5 * t ** 3 - 2.5 * t ** 2 + 1, (t ** 3 - t ** 2) / 2
        return w0, w1, 1 - w0 - w1 - w3, w3

    ax, cx, dx, ex = weights(x - bx)
    ay, cy, dy, ey = weights(y - by)
    mx, my = cx + dx, cy + dy
    px, py = bx + dx / mx, by + dy / my
    taps = [(px, by - 1, mx * ay), (bx - 1, py, ax * my), (px, py, mx * my), (bx + 2, py, ex * my), (px, by + 2, mx * ey)]
    total = sum(w for _, _, w in taps)
    return sum(linear(image, u, v) * w[:, None] for u, v, w in taps) / total[:, None]


def reconstruct(geometry, color, tile, motion_a, motion_b, motion_c, history, params):
    """Without f16 rounding."""
    g, p = geometry, lambda i: per_sample(params, i)
    ox, oy = grid(g, color, True)
    fx, fy = ox / g.sx - p(JITTER), oy / g.sy - p(JITTER + 1)
    bx, by = torch.floor(fx), torch.floor(fy)
    source = torch.cat([color, tile], 1)
    total, weight = 0.0, 0.0
    for j in (-1, 0, 1):
        for i in (-1, 0, 1):
            t = gather(source, bx + i, by + j)
            dx, dy = bx + i + 0.5 - fx, by + j + 0.5 - fy
            w = torch.exp(-0.5 * (t[:, 9] * dx * dx + t[:, 10] * dy * dy) - t[:, 11] * dx * dy)[:, None]
            total, weight = total + w * t[:, :9], weight + w
    q = total / weight
    motions = torch.stack([gather(motion_a, bx, by), linear(motion_c, fx, fy), gather(motion_b, bx, by)], 1)
    nearest = compress(expand(gather(color, bx, by)) * (p(E2) / p(E1))[:, None])
    candidates = []
    for k in range(3):
        qx, qy = ox + motions[:, k, 0] * g.sx, oy + motions[:, k, 1] * g.sy
        candidates.append(torch.where(on_screen(g, params, qx, qy)[:, None], catmull_rom(history, qx, qy), nearest))
    m = q[:, 3:6]
    kept = (1.1 * m - 0.05).clamp(0, 1)
    lightest = m.argmin(1, keepdim=True)
    kept = kept.masked_fill(torch.arange(3)[None, :, None, None] == lightest, 0.0)
    share = kept / kept.sum(1, keepdim=True).clamp_min(1e-10)
    share = torch.where(share < 1 / 255, torch.zeros_like(share), share)
    share = torch.where(share == share.max(1, keepdim=True)[0], 1 - (share.sum(1, keepdim=True) - share), share)
    blended = sum(share[:, k:k + 1] * candidates[k] for k in range(3))
    past, now = expand(blended) * (p(E1) / p(E2))[:, None], expand(q[:, :3])
    a0 = (2.75301 * weight * q[:, 6:7]).clamp(0, 1)
    a1, a2 = a0 * (1 - q[:, 7:8]) + q[:, 7:8], a0 * (1 - q[:, 8:9]) + q[:, 8:9]
    out_a = past + (now - past) * a1
    mean = torch.nn.functional.avg_pool2d(out_a, 2, ceil_mode=True, count_include_pad=False)
    return compress(out_a), compress(past + (now - past) * a2), compress(mean)


def downsample(geometry, image):
    def axis(n, size):
        m = torch.zeros(n, size, dtype=image.dtype)
        for x in range(n):
            base = 3 * (x // 2) + x % 2
            m[x, min(base, size - 1)] += 0.25 if x % 2 else 0.75
            m[x, min(base + 1, size - 1)] += 0.75 if x % 2 else 0.25
        return m

    lifted = torch.pow(10.0, image / 1.08)
    return 1.08 * torch.log10(torch.einsum("Yy,bcyx,Xx->bcYX", axis(geometry.oh, geometry.rh), lifted, axis(geometry.ow, geometry.rw)))
