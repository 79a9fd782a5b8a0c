"""Preset M's network: parameters, the Swin blocks with the runtime's roundings, and the expansion to per-pixel values.

`math` is bfloat16 for training on a GPU (products of FP8 values, residual stream in bfloat16) and float32 for
deployment, where every rounding is the runtime's own.
"""
import math

import torch
import torch.nn.functional as F

import native

CHANNELS, HEAD, MIDDLE, VALUES, FEATURES = (64, 96, 128), 32, 6, 17, 20
TOKEN_CLAMP = 2 * math.pi


def nearest_fp8(x):
    """Nearest E4M3 value, ties to even, saturating."""
    if not x.is_cuda and x.dtype == torch.float32:
        return native.round_fp8(x)
    return x.clamp(-448.0, 448.0).to(torch.float8_e4m3fn).to(x.dtype)


def straight_through(x, rounded):
    if not torch.is_grad_enabled():
        return rounded
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


def linear(x, weight, bias):
    """float32 accumulation is the product's own; the bias is added in float32."""
    return F.linear(x, weight).float() + bias


def normalised(v, kind):
    return fp8(v * torch.rsqrt(v.square().mean(-1, keepdim=True) + 1e-5)).to(kind)


def activation(y):
    c = y.clamp(-2.4, 2.4)
    return y * (0.5 + c * (0.412 - 0.081 * c.abs()))


def before_attention(x, weight, bias):
    return fp8(linear(normalised(x.float(), x.dtype), weight, bias)).to(x.dtype)


def after_attention(x, o, proj, proj_bias, mlp1, mlp1_bias, mlp2, mlp2_bias):
    y = x.float() + linear(o, proj, proj_bias)
    u = fp8(activation(linear(normalised(y, x.dtype), mlp1, mlp1_bias))).to(x.dtype)
    return fp8(y + linear(u, mlp2, mlp2_bias)).to(x.dtype)


def embed(features, weight, bias):
    return fp8(linear(merged(features), weight, bias).clamp(-TOKEN_CLAMP, TOKEN_CLAMP)).to(features.dtype)


def merge(x, weight, bias):
    return fp8(linear(merged(x), weight, bias)).to(x.dtype)


def expand(x, skip, weight, bias):
    return fp8(unmerged(linear(x, weight, bias)) + skip.float()).to(x.dtype)


def expansion(x, weight, bias, recurrent):
    """Head tokens [B,h/2,w/2,64] and the reprojected recurrent feature [B,4,h,w] -> tile, next recurrent feature"""
    h, w = recurrent.shape[-2:]
    v = unmerged(linear(x, weight, bias))[:, :h, :w].permute(0, 3, 1, 2)
    return expand_values(v, recurrent)


PIECES = (before_attention, after_attention, embed, merge, expand, expansion)


class Pieces:
    """The functions between attentions; `wrap` compiles them."""

    def __init__(self, wrap=lambda f: f):
        for f in PIECES:
            setattr(self, f.__name__, wrap(f))


def attention_torch(qkv, bias, shift):
    """Attention of native/attention.cu, in plain PyTorch."""
    b, h, w, c3 = qkv.shape
    heads, pad = bias.shape[0], 2 * shift
    windows = lambda t: t.view(t.shape[0], t.shape[1] // 4, 4, t.shape[2] // 4, 4, t.shape[3]).permute(0, 1, 3, 2, 4, 5).reshape(-1, 16, t.shape[3])
    inside = F.pad(torch.ones(1, h, w, 1, dtype=qkv.dtype, device=qkv.device), (0, 0, shift, shift, shift, shift))
    q, k, v = windows(F.pad(qkv, (0, 0, shift, shift, shift, shift))).view(-1, 16, 3, heads, HEAD).permute(2, 0, 3, 1, 4)
    mask = torch.zeros_like(windows(inside)).masked_fill(windows(inside) < 0.5, -1e30).view(1, -1, 1, 1, 16)
    s = q @ k.transpose(-1, -2) * HEAD ** -0.5 + bias
    s = (s.view(b, -1, heads, 16, 16) + mask).view(-1, heads, 16, 16)
    e = 256.0 * torch.exp(s - s.amax(-1, keepdim=True).detach())
    o = fp8(fp8(e) @ v / e.sum(-1, keepdim=True)).transpose(1, 2).reshape(-1, 16, c3 // 3)
    o = o.view(b, (h + pad) // 4, (w + pad) // 4, 4, 4, -1).permute(0, 1, 3, 2, 4, 5).reshape(b, h + pad, w + pad, -1)
    return o[:, shift:shift + h, shift:shift + w].contiguous()


def attention(qkv, bias, shift):
    if qkv.is_cuda and qkv.dtype != torch.bfloat16:
        return attention_torch(qkv, bias, shift)
    return native.Attention.apply(qkv, bias, shift, False)


def merged(x):
    b, h, w, c = x.shape
    return x.view(b, h // 2, 2, w // 2, 2, c).permute(0, 1, 3, 2, 4, 5).reshape(b, h // 2, w // 2, 4 * c)


def unmerged(x):
    b, h, w, c = x.shape
    return x.view(b, h, w, 2, 2, c // 4).permute(0, 1, 3, 2, 4, 5).reshape(b, 2 * h, 2 * w, c // 4)


_index = {}  # made before a graph is captured


class Weights:
    """Parameters as a step uses them: rounded matrices in the arithmetic type, biases, relative biases as tables."""

    def __init__(self, parameters, kind):
        named = parameters.named()
        device = parameters.vectors.device
        if device not in _index:
            _index[device] = relative_index().to(device)
        self.matrix = {n: named[n].to(kind) for n in matrix_shapes()}
        self.bias = {n: named[n + ".bias"] for n in matrix_shapes()}
        self.table = {n: named[n + ".rel_bias"].index_select(1, _index[device]).view(c // HEAD, 16, 16) for n, c, _ in blocks()}

    def pair(self, name):
        return self.matrix[name], self.bias[name]


def block(x, name, shift, weights, pieces):
    qkv = pieces.before_attention(x, *weights.pair(name + ".qkv"))
    o = attention(qkv, weights.table[name], shift)
    return pieces.after_attention(x, o, *weights.pair(name + ".proj"), *weights.pair(name + ".mlp1"), *weights.pair(name + ".mlp2"))


def head(features, weights, pieces):
    """features [B,h,w,20] FP8 values, sides multiples of 32 -> head tokens [B,h/2,w/2,64]"""
    shift = {name: s for name, _, s in blocks()}
    run = lambda x, name: block(x, name, shift[name], weights, pieces)
    skip1 = run(pieces.embed(features, *weights.pair("input.embed")), "enc1")
    skip2 = run(pieces.merge(skip1, *weights.pair("merge1")), "enc2")
    x = pieces.merge(skip2, *weights.pair("merge2"))
    for i in range(MIDDLE):
        x = run(x, "mid%d" % i)
    x = run(pieces.expand(x, skip2, *weights.pair("expand2")), "dec2")
    return run(pieces.expand(x, skip1, *weights.pair("expand1")), "dec1")


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


def predict(features, recurrent, weights, pieces):
    """Features of a frame (FP8 values) to the reconstruction's tile and the next recurrent feature."""
    b, h, w, _ = features.shape
    x = features.to(weights.matrix["merge1"].dtype)
    ph, pw = -(-h // 32) * 32, -(-w // 32) * 32
    if (ph, pw) != (h, w):
        x = x.index_select(1, mirrored(h, ph, x.device)).index_select(2, mirrored(w, pw, x.device))
    tile, feature = pieces.expansion(head(x, weights, pieces), *weights.pair("expansion"), recurrent)
    return tile.contiguous(), feature.contiguous()
