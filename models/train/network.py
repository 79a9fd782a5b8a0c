"""Preset M's network: parameters, the Swin blocks with the runtime's roundings, and the expansion to per-pixel values.

`math` is bfloat16 for training on a GPU (products of FP8 values, residual stream in bfloat16) and float32 for
deployment, where every rounding is the runtime's own.
"""
import math

import torch
import torch.nn.functional as F

CHANNELS, HEAD, MIDDLE, VALUES, FEATURES = (64, 96, 128), 32, 6, 17, 20
TOKEN_CLAMP = 2 * math.pi
HAS_FP8 = hasattr(torch, "float8_e4m3fn")


def nearest_fp8(x):
    """Nearest E4M3 value, ties to even, saturating."""
    y = x.clamp(-448.0, 448.0)
    if HAS_FP8:
        return y.to(torch.float8_e4m3fn).to(x.dtype)
    exponent = torch.floor(torch.log2(y.abs().clamp_min(2.0 ** -6)))
    exponent = torch.where(y.abs() >= torch.exp2(exponent + 1), exponent + 1, exponent)
    exponent = torch.where(y.abs().clamp_min(2.0 ** -6) < torch.exp2(exponent), exponent - 1, exponent)
    step = torch.exp2(exponent - 3)
    return torch.round(y / step) * step


def straight_through(x, rounded):
    return x + (rounded - x).detach()


def fp8(x):
    return straight_through(x, nearest_fp8(x))


def unorm(x, steps):
    return straight_through(x, torch.round(x * steps) / steps)


def blocks():
    """Name, channels, shift of every block in the order of evaluation."""
    yield "enc1", 64, 2
    yield "enc2", 96, 2
    for i in range(MIDDLE):
        yield "mid%d" % i, 128, 2 - 2 * (i % 2)
    yield "dec2", 96, 0
    yield "dec1", 64, 0


def matrix_shapes():
    shapes = {"input.embed": (64, 4 * FEATURES)}
    for name, c, _ in blocks():
        shapes.update({name + ".qkv": (3 * c, c), name + ".proj": (c, c), name + ".mlp1": (2 * c, c), name + ".mlp2": (c, 2 * c)})
    shapes.update({"merge1": (96, 256), "merge2": (128, 384), "expand2": (384, 128), "expand1": (256, 96),
                   "expansion": (4 * VALUES, 64)})
    return shapes


def vector_shapes():
    shapes = {name + ".bias": (out,) for name, (out, _) in matrix_shapes().items()}
    shapes.update({name + ".rel_bias": (c // HEAD, 49) for name, c, _ in blocks()})
    return shapes


class Parameters:
    """Two flat tensors, matrices (rounded to FP8 in use) and vectors, with named views."""

    def __init__(self, matrices, vectors):
        self.matrices, self.vectors = matrices, vectors

    @staticmethod
    def initial(seed=0):
        g = torch.Generator().manual_seed(seed)
        named = {}
        for name, (out, inputs) in matrix_shapes().items():
            part = name.split(".")[-1]
            gain = {"proj": 0.4, "mlp2": 0.4, "expansion": 0.1, "expand2": 0.7, "expand1": 0.7, "embed": 1.5}.get(part, 1.0)
            named[name] = torch.randn(out, inputs, generator=g) * gain / math.sqrt(inputs)
        correlation = named["expansion"].view(4, VALUES, 64)[:, 16]
        correlation *= 8  # its value is scaled by 0.079 before the tanh
        vectors = {n: torch.zeros(s) for n, s in vector_shapes().items()}
        for name, c, _ in blocks():
            vectors[name + ".rel_bias"] = torch.randn(c // HEAD, 49, generator=g) * 0.02
        values = vectors["expansion.bias"].view(4, VALUES)
        values[:, 0], values[:, 1], values[:, 10] = -2.8, -4.0, -4.0  # weight of the current frame
        values[:, 11], values[:, 12], values[:, 13] = 1.5, 0.3, -0.3  # nearest depth, own, farthest
        values[:, 14:16] = -0.4
        return Parameters(torch.cat([named[n].reshape(-1) for n in matrix_shapes()]),
                          torch.cat([vectors[n].reshape(-1) for n in vector_shapes()]))

    def to(self, device):
        return Parameters(self.matrices.to(device), self.vectors.to(device))

    def named(self, rounded=True):
        """name -> view; matrices rounded to FP8 (straight through)."""
        out = {}
        matrices = fp8(self.matrices) if rounded else self.matrices
        for flat, shapes in ((matrices, matrix_shapes()), (self.vectors, vector_shapes())):
            parts = flat.split([math.prod(s) for s in shapes.values()])
            out.update({name: part.view(shape) for (name, shape), part in zip(shapes.items(), parts)})
        return out


def relative_index():
    """[query][key] -> index of the relative bias, flattened"""
    at = torch.stack(torch.meshgrid(torch.arange(4), torch.arange(4), indexing="ij"), -1).view(16, 2)
    d = at[None, :, :] - at[:, None, :] + 3  # key - query
    return (7 * d[..., 0] + d[..., 1]).reshape(-1)


def window_mask(rows, columns):
    """0 for keys inside the grid, -inf outside, of the windows that start at -2: [windows, 1, 1, 16]"""
    def inside(n):
        i = torch.arange(-2, n + 2)
        return ((i >= 0) & (i < n)).view(-1, 4)

    both = inside(rows)[:, None, :, None] & inside(columns)[None, :, None, :]
    return torch.zeros(both.shape).masked_fill(~both, float("-inf")).reshape(-1, 1, 1, 16)


def tables(w, h, device):
    """Constants of a render size, to be merged into the named parameters."""
    rows, columns = -(-h // 32) * 16, -(-w // 32) * 16
    out = {"relative_index": relative_index()}
    out.update({"mask%d" % c: window_mask(rows >> level, columns >> level) for level, c in enumerate(CHANNELS)})
    return {k: t.to(device) for k, t in out.items()}


def linear(x, p, name):
    return F.linear(x, p[name].to(x.dtype), p[name + ".bias"].to(x.dtype))


def normalised(x):
    v = x.float()
    return fp8((v * torch.rsqrt(v.square().mean(-1, keepdim=True) + 1e-5)).to(x.dtype))


def activation(y):
    c = y.clamp(-2.4, 2.4)
    return y * (0.5 + c * (0.412 - 0.081 * c.abs()))


def to_windows(x, shift):
    b, h, w, c = x.shape
    if shift:
        x, h, w = F.pad(x, (0, 0, shift, shift, shift, shift)), h + 2 * shift, w + 2 * shift
    return x.view(b, h // 4, 4, w // 4, 4, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, 16, c)


def from_windows(x, b, h, w, shift):
    c = x.shape[-1]
    ph, pw = h + 2 * shift, w + 2 * shift
    x = x.view(b, ph // 4, pw // 4, 4, 4, c).permute(0, 1, 3, 2, 4, 5).reshape(b, ph, pw, c)
    return x[:, shift:shift + h, shift:shift + w] if shift else x


def attention(n, p, name, shift):
    b, h, w, c = n.shape
    heads = c // HEAD
    qkv = fp8(linear(to_windows(n, shift), p, name + ".qkv")).view(-1, 16, 3, heads, HEAD).permute(2, 0, 3, 1, 4)
    q, k, v = qkv[0], qkv[1], qkv[2]
    bias = p[name + ".rel_bias"].index_select(1, p["relative_index"]).view(heads, 16, 16)
    s = (q @ k.transpose(-1, -2)).float() * HEAD ** -0.5 + bias
    if shift:
        s = (s.view(b, -1, heads, 16, 16) + p["mask%d" % c]).view(-1, heads, 16, 16)
    e = 256.0 * torch.exp(s - s.amax(-1, keepdim=True).detach())
    o = (fp8(e.to(n.dtype)) @ v).float() / e.sum(-1, keepdim=True)
    return from_windows(fp8(o.to(n.dtype)).transpose(1, 2).reshape(-1, 16, c), b, h, w, shift)


def block(x, p, name, shift):
    x = x + linear(attention(normalised(x), p, name, shift), p, name + ".proj")
    u = fp8(activation(linear(normalised(x), p, name + ".mlp1")))
    return fp8(x + linear(u, p, name + ".mlp2"))


def merge(x):
    b, h, w, c = x.shape
    return x.view(b, h // 2, 2, w // 2, 2, c).permute(0, 1, 3, 2, 4, 5).reshape(b, h // 2, w // 2, 4 * c)


def unmerge(x):
    b, h, w, c = x.shape
    return x.view(b, h, w, 2, 2, c // 4).permute(0, 1, 3, 2, 4, 5).reshape(b, 2 * h, 2 * w, c // 4)


def head(features, p):
    """features [B,h,w,20] FP8 values, sides multiples of 32 -> [B,h,w,17] before rounding"""
    shift = {name: s for name, _, s in blocks()}
    x = fp8(linear(merge(features), p, "input.embed").clamp(-TOKEN_CLAMP, TOKEN_CLAMP))
    skip1 = block(x, p, "enc1", shift["enc1"])
    skip2 = block(fp8(linear(merge(skip1), p, "merge1")), p, "enc2", shift["enc2"])
    x = fp8(linear(merge(skip2), p, "merge2"))
    for i in range(MIDDLE):
        x = block(x, p, "mid%d" % i, shift["mid%d" % i])
    x = block(fp8(unmerge(linear(x, p, "expand2")) + skip2), p, "dec2", shift["dec2"])
    x = block(fp8(unmerge(linear(x, p, "expand1")) + skip1), p, "dec1", shift["dec1"])
    return unmerge(linear(x, p, "expansion"))


def mirrored(n, padded, device):
    i = torch.arange(padded, device=device)
    return torch.where(i < n, i, 2 * n - 2 - i)


def expand_values(v, recurrent):
    """v [B,17,h,w], reprojected recurrent feature [B,4,h,w] -> tile [B,9,h,w], next recurrent feature"""
    v = fp8(v)
    gate = torch.sigmoid(v[:, 6:10])
    feature = unorm((1 - gate) * recurrent + gate * torch.tanh(v[:, 2:6]), 127.0)
    mix = unorm(torch.softmax(v[:, 11:14], 1), 255.0)
    gates = unorm(torch.sigmoid(torch.cat([v[:, 0:2], v[:, 10:11]], 1)), 255.0)
    a, b = 8 * torch.sigmoid(v[:, 14:15].clamp(-20, 20)), 8 * torch.sigmoid(v[:, 15:16].clamp(-20, 20))
    shape = torch.cat([a * a, b * b, a * b * torch.tanh(0.07863 * v[:, 16:17])], 1)
    shape = straight_through(shape, shape.half().float())
    return torch.cat([mix, gates, shape], 1), feature


def predict(features, recurrent, p, math_type):
    """Features of a frame (FP8 values) to the reconstruction's tile and the next recurrent feature."""
    b, h, w, _ = features.shape
    x = features.to(math_type)
    ph, pw = -(-h // 32) * 32, -(-w // 32) * 32
    if (ph, pw) != (h, w):
        x = x.index_select(1, mirrored(h, ph, x.device)).index_select(2, mirrored(w, pw, x.device))
    v = head(x, p)[:, :h, :w].float().permute(0, 3, 1, 2)
    tile, feature = expand_values(v, recurrent)
    return tile.contiguous(), feature.contiguous()
