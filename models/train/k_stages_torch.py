"""Preset K's stages in plain PyTorch: slow, and the check of native/k_stages.h, values and gradients."""
import torch

from k_network import token_index
from native import E1, E2, HISTORY, JITTER
from stages_torch import SCALE, catmull_rom, compress, gather, linear, per_sample


def expand(v):
    return (torch.exp(v.clamp(0.0, 3.0) / SCALE) - 1) * 0.01


def carried(v, p):
    return compress((expand(v) * (p(E1) / p(E2))[:, None]).clamp_max(32752.0))


def on_screen(g, p, x, y):
    return (p(HISTORY) > 0) & (x >= 0) & (y >= 0) & (x <= g.ow) & (y <= g.oh)


def luma(c):
    return 0.25 * c[:, 0] + 0.5 * c[:, 1] + 0.25 * c[:, 2]


def chroma(c):
    return (c[:, 0] - c[:, 2]) / 2, c[:, 1] / 2 - (c[:, 0] + c[:, 2]) / 4


def sites(g, p, like):
    """Of every sub-block of the grid, [B, 2 gh, 2 gw]: centre, nearest sample's position, its texel."""
    px = (2.0 * torch.arange(2 * g.gw, dtype=like.dtype) + 1).clamp_max(g.ow)[None, None, :].expand(like.shape[0], 2 * g.gh, -1)
    py = (2.0 * torch.arange(2 * g.gh, dtype=like.dtype) + 1).clamp_max(g.oh)[None, :, None].expand(like.shape[0], -1, 2 * g.gw)
    sx, sy = g.w / g.ow, g.h / g.oh
    tx, ty = torch.floor(px * sx - p(JITTER)).clamp(0, g.w - 1), torch.floor(py * sy - p(JITTER + 1)).clamp(0, g.h - 1)
    return (px, py), ((tx + 0.5 + p(JITTER)) / sx, (ty + 0.5 + p(JITTER + 1)) / sy), (tx, ty)


def history_at(g, p, history, x, y, fallback):
    read = linear(history, x, y)
    value = torch.cat([carried(read[:, :3], p), read[:, 3:]], 1)
    return torch.where(on_screen(g, p, x, y)[:, None], value, torch.cat([fallback, torch.zeros_like(fallback[:, :1])], 1))


def fours(t):
    """[B, 2h, 2w] -> [4, B, h, w], sub-blocks 0-3"""
    b, h, w = t.shape
    return t.view(b, h // 2, 2, w // 2, 2).permute(2, 4, 0, 1, 3).reshape(4, b, h // 2, w // 2)


def features(g, color, motion_a, motion, span, history, recurrent, params):
    p, b = lambda i: per_sample(params, i), color.shape[0]
    (px, py), (qx, qy), (tx, ty) = sites(g, p, color)
    here, a, own, near = gather(color, tx, ty), gather(motion_a, tx, ty), gather(motion, tx, ty), gather(span, tx, ty)
    h, at_sample = (history_at(g, p, history, x + a[:, 0], y + a[:, 1], here) for x, y in ((px, py), (qx, qy)))
    lo, hi = fours(near[:, 0]), fours(near[:, 1])
    best = torch.zeros_like(hi[0], dtype=torch.long)
    for i in range(1, 4):
        best = torch.where(hi[i] > hi.gather(0, best[None])[0], torch.full_like(best, i), best)
    pick = lambda t: fours(t).gather(0, best[None])[0]
    mx, my = pick(a[:, 0]), pick(a[:, 1])
    slots = list(fours(luma(here))) + [fours(t).mean(0) for t in chroma(here)]
    slots += list(fours(luma(h))) + [fours(t).mean(0) for t in chroma(h)]
    slots += list(fours(luma(here) - luma(at_sample)))
    offset = lambda u, v: fours(((u - v) / 2).clamp(-2, 2))
    slots += [offset(qx, px)[0], offset(qx, px)[1], offset(qy, py)[0], offset(qy, py)[2]]
    cx, cy = torch.meshgrid(4.0 * torch.arange(g.gw, dtype=color.dtype) + 2, 4.0 * torch.arange(g.gh, dtype=color.dtype) + 2, indexing="xy")
    order = token_index(*torch.meshgrid(torch.arange(g.gw), torch.arange(g.gh), indexing="xy"), g.grid, 0)
    image = recurrent.view(b, -1, 8)[:, order.reshape(-1)].transpose(1, 2).reshape(b, 8, g.gh, g.gw)[:, :, :-(-g.oh // 4), :-(-g.ow // 4)]
    read = linear(image, (cx + mx) / 4, (cy + my) / 4)
    slots += list((read * on_screen(g, p, cx + mx, cy + my)[:, None]).transpose(0, 1))
    slots.append(0.25 * torch.log(1 + (mx ** 2 + my ** 2).sqrt()))
    slots.append(0.25 * torch.log(1 + fours((a - own).square().sum(1).sqrt()).amax(0)))
    slots.append(1 - (lo.amin(0) + 1e-6) / (hi.amax(0) + 1e-6))
    slots.append(fours(h[:, 3] / (h[:, 3] + 4)).mean(0))
    inside = ((cx - 2 < g.ow) & (cy - 2 < g.oh)).to(color.dtype)
    out = torch.stack(slots, -1).clamp(-64, 64) * inside[None, :, :, None]
    return torch.zeros(b, g.gw * g.gh, 32, dtype=color.dtype).index_copy(1, order.reshape(-1), out.view(b, -1, 32)).view(-1, 32)


def shape_weights(g, gaussians, table, phase_x, phase_y):
    """[B, oh, ow, 16 shapes, 16 taps]"""
    if table is None:
        at, tap = (torch.arange(8, dtype=gaussians.dtype) + 0.5) / 8, torch.arange(4, dtype=gaussians.dtype) - 1
        d, (a, b, c) = tap[None, :] - at[:, None], (gaussians[:, i].view(1, 1, -1, 1, 1) for i in range(3))
        dx, dy = d[None, :, None, None, :], d[:, None, None, :, None]
        table = torch.exp(-(a * dx * dx + b * dy * dy + 2 * c * dx * dy) / 2 * (0.5 + g.table * 3 / 28) / 2).reshape(64, 16, 16)
    return table[8 * phase_y + phase_x]


def reconstruct(g, color, head, motion_a, motion, history, gaussians, table, params):
    p, b = lambda i: per_sample(params, i), color.shape[0]
    x, y = torch.arange(g.ow, dtype=color.dtype)[None, None, :].expand(b, g.oh, -1), torch.arange(g.oh, dtype=color.dtype)[None, :, None].expand(b, -1, g.ow)
    fx, fy = (x + 0.5) * g.w / g.ow - p(JITTER), (y + 0.5) * g.h / g.oh - p(JITTER + 1)
    bx, by = torch.floor(fx - 0.5), torch.floor(fy - 0.5)
    ux, uy = fx - 0.5 - bx, fy - 0.5 - by
    ix, iy = x.long(), y.long()
    token = token_index(torch.div(ix, 4, rounding_mode="floor"), torch.div(iy, 4, rounding_mode="floor"), g.grid, 0)
    sub = 2 * (torch.div(iy, 2, rounding_mode="floor") % 2) + torch.div(ix, 2, rounding_mode="floor") % 2
    sample = torch.arange(b)[:, None, None]
    v = head.view(b, -1, 40)[sample, token][..., :32].view(b, g.oh, g.ow, 4, 8).gather(3, sub[..., None, None].expand(-1, -1, -1, 1, 8))[..., 0, :]
    s = torch.sigmoid(v)
    a, c = 3 * s[..., 0], 3 * s[..., 1]
    gain, keep, show, own_share, clip, box = 4 * s[..., 2], s[..., 3], s[..., 4], s[..., 5], s[..., 6], 4 * s[..., 7]
    ia, ic = torch.floor(a.detach()).clamp(0, 2), torch.floor(c.detach()).clamp(0, 2)
    of_shape = shape_weights(g, gaussians, table, torch.floor(8 * ux).clamp(0, 7).long(), torch.floor(8 * uy).clamp(0, 7).long())
    w = 0.0
    for k in range(4):
        share = (a - ia if k & 1 else 1 - a + ia) * (c - ic if k >> 1 else 1 - c + ic)
        shape = (4 * ic + ia).long() + (k & 1) + 4 * (k >> 1)
        w = w + share[..., None] * of_shape.gather(3, shape[..., None, None].expand(-1, -1, -1, 1, 16))[..., 0, :]
    taps = torch.stack([gather(color, bx + i - 1, by + j - 1) for j in range(4) for i in range(4)], -1)
    weight = w.sum(-1)
    cur = (taps * w[:, None]).sum(-1) / weight[:, None]
    e = torch.stack([torch.exp(-((i - 1 - ux) ** 2 + (j - 1 - uy) ** 2) / (2 * 0.75 ** 2)) for j in range(4) for i in range(4)], -1)
    e = (e / e.sum(-1, keepdim=True))[:, None]
    m = (taps * e).sum(-1)
    deviation = ((taps - m[..., None]).square() * e).sum(-1).clamp_min(0).sqrt()
    _, _, (tx, ty) = sites(g, p, color)
    at = lambda t: t[sample, torch.div(iy, 2, rounding_mode="floor"), torch.div(ix, 2, rounding_mode="floor")]
    near, own = gather(motion_a, at(tx), at(ty)), gather(motion, torch.floor(fx), torch.floor(fy))
    candidates = []
    for mv in (near, own):
        qx, qy = x + 0.5 + mv[:, 0], y + 0.5 + mv[:, 1]
        read = catmull_rom(history, qx, qy)
        value = torch.cat([carried(read[:, :3], p), read[:, 3:].clamp(0, 64)], 1)
        candidates.append(torch.where(on_screen(g, p, qx, qy)[:, None], value, torch.cat([cur, torch.zeros_like(cur[:, :1])], 1)))
    share = torch.where(own_share > 254 / 255, torch.ones_like(own_share), own_share)
    share = torch.where((own_share < 1 / 255) | (near == own).all(1), torch.zeros_like(share), share)[:, None]
    h = (1 - share) * candidates[0] + share * candidates[1]
    h, n = h[:, :3], h[:, 3]
    boxed = torch.maximum(torch.minimum(h, m + box[:, None] * deviation), m - box[:, None] * deviation)
    past, now = expand(h + clip[:, None] * (boxed - h)), expand(cur)
    w, k = weight * gain, n * keep
    alpha = (w / (k + w).clamp_min(1e-6))[:, None]
    kept = past + (now - past) * alpha
    shown = past + (now - past) * (alpha + (1 - alpha) * show[:, None])
    return torch.cat([compress(kept), (k + w).clamp_max(64)[:, None]], 1), compress(shown)
