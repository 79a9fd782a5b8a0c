"""Preset K's network: parameters, the blocks with a backward pass of their own, and the whole network for one phase.

Tokens are flat, [batch * tokens, channels], in the order of native/k_stages.h, in which the four children of a coarser
token follow one another: merges and expands are views. Training on a GPU is in bfloat16, with native operations; in float32
the roundings are docs/preset_k.md's (f16); in double nothing is rounded.
"""
import math

import torch

import k_native
from network import activation, straight_through

HEAD_WIDTH, WINDOW, FEATURES, HEAD, RECURRENT, PHASES, SHAPES = 32, 8, 32, 40, 8, 8, 16
WIDTHS, HIDDEN = (32, 64, 64, 96, 128, 128), (32, 64, 128, 192, 256, 256)
LEVELS = {"enc0": 0, "enc1": 1, "enc2": 2, "enc3": 3, "enc4": 4, "dec5": 5, "dec4": 4, "dec3": 3, "dec2": 2, "dec1": 1, "dec0": 0}
SMALLEST_MEAN = 0.01
LOG2E = 1.4426950408889634
SCORE_SCALE = HEAD_WIDTH ** -0.5 * LOG2E
PRECISION_MIN, PRECISION_MAX, CORRELATION_MAX = 0.3, 48.0, 0.85


def shift_of(level, phase):
    shift = 5 * phase % WINDOW
    for _ in range(level, 5):
        shift = (2 * shift + 4) % WINDOW
    return shift


def half(x):
    """f16 values of float32 tensors; others are what they are."""
    if x.dtype != torch.float32:
        return x
    return x.clamp(-65504.0, 65504.0).half().float()


def half_through(x):
    rounded = half(x)
    return x if rounded is x else straight_through(x, rounded)


# ---- parameters ----

def matrix_shapes():
    shapes = {}
    for name, level in LEVELS.items():
        c, h = WIDTHS[level], HIDDEN[level]
        if name.startswith("dec") and level < 5:
            shapes[name + ".expand"] = (4 * c, WIDTHS[level + 1])
        elif level:
            shapes[name + ".merge"] = (c, 4 * WIDTHS[level - 1])
        shapes.update({name + ".qkv": (3 * c, c), name + ".proj": (c, c), name + ".mlp1": (h, c), name + ".mlp2": (c, h)})
    shapes["head"] = (HEAD, WIDTHS[0])
    return shapes


def heads_of(name):
    return WIDTHS[LEVELS[name]] // HEAD_WIDTH


def vector_shapes():
    """Biases, relative biases of all layers side by side, and the Gaussians of the tables."""
    unbiased = ("proj", "mlp2")
    shapes = {name + ".bias": (out,) for name, (out, _) in matrix_shapes().items() if name.split(".")[-1] not in unbiased}
    shapes["rel_bias"] = (sum(heads_of(n) for n in LEVELS), 225)
    shapes["gaussians"] = (SHAPES, 3)
    return shapes


def split_named(flat, shapes):
    parts = flat.split([math.prod(s) for s in shapes.values()])
    return {name: part.view(shape) for (name, shape), part in zip(shapes.items(), parts)}


def initial_head():
    """Values of a head that accumulates: 1/n on what stays, a little of the current frame in what is shown."""
    logit = lambda p: math.log(p / (1 - p))
    gates = [logit(2.4 / 3), logit(1.1 / 3), logit(0.25), logit(0.95), logit(0.02), logit(0.05), logit(0.5), logit(0.6)]
    return torch.tensor(gates * 4 + [0.0] * RECURRENT)


def initial_gaussians():
    """Columns of growing precision; rows: long in x, round, long in y, diagonal. [log A, log B, atanh of the correlation]"""
    rows = []
    for row in range(4):
        for column in range(4):
            p = (2.5, 7.0, 16.0, 34.0)[column]
            x, y, r = ((p / 1.4, p * 1.4, 0.0), (p, p, 0.0), (p * 1.4, p / 1.4, 0.0), (p, p, 0.5))[row]
            rows.append([math.log(x), math.log(y), math.atanh(r / CORRELATION_MAX)])
    return torch.tensor(rows)


def gaussians(values):
    """[16, 3] parameters -> A, B, C: positive definite, and precise to a limit."""
    p = values[:, :2].clamp(math.log(PRECISION_MIN), math.log(PRECISION_MAX)).exp()
    return torch.stack([p[:, 0], p[:, 1], CORRELATION_MAX * torch.tanh(values[:, 2]) * (p[:, 0] * p[:, 1]).sqrt()], 1)


class Parameters:
    """Two flat tensors, matrices and vectors, with named views."""

    def __init__(self, matrices, vectors):
        self.matrices, self.vectors = matrices, vectors

    @staticmethod
    def initial(seed=0):
        g, named = torch.Generator().manual_seed(seed), {}
        gains = {"proj": 0.4, "mlp2": 0.4, "merge": 0.5, "expand": 0.5, "head": 0.2}  # children resemble each other
        for name, (out, inputs) in matrix_shapes().items():
            named[name] = torch.randn(out, inputs, generator=g) * gains.get(name.split(".")[-1], 1.0) / math.sqrt(inputs)
        named["head"][HEAD - RECURRENT:] *= 3
        # Not zero: tokens outside the output would be zeros in every layer, and each norm multiply their gradients by 316.
        vectors = {n: 0.2 * torch.randn(s, generator=g) for n, s in vector_shapes().items()}
        vectors["rel_bias"] = torch.randn(*vector_shapes()["rel_bias"], generator=g) * 0.02
        vectors["head.bias"], vectors["gaussians"] = initial_head(), initial_gaussians()
        return Parameters(torch.cat([named[n].reshape(-1) for n in matrix_shapes()]),
                          torch.cat([vectors[n].reshape(-1) for n in vector_shapes()]))

    def to(self, device):
        return Parameters(self.matrices.to(device), self.vectors.to(device))

    def scaled(self):
        """The two tensors as the runtime has them: scores are base-2 logarithms, keys have no bias."""
        key = (self.matrices.device, self.matrices.dtype)
        if key not in _scales:
            _scales[key] = [s.to(*key) for s in scales()]
        a, b = _scales[key]
        return self.matrices * a, self.vectors * b

    def named(self):
        """Runtime's values, name -> view; matrices rounded to f16 on the CPU."""
        matrices, vectors = self.scaled()
        return {**split_named(half_through(matrices), matrix_shapes()), **split_named(vectors, vector_shapes())}


_scales, _index = {}, {}  # made before a graph is captured


def scales():
    matrices, vectors = torch.ones(sum(math.prod(s) for s in matrix_shapes().values())), torch.ones(sum(math.prod(s) for s in vector_shapes().values()))
    m, v = split_named(matrices, matrix_shapes()), split_named(vectors, vector_shapes())
    for name, level in LEVELS.items():
        c = WIDTHS[level]
        m[name + ".qkv"][:c] = SCORE_SCALE
        v[name + ".qkv.bias"][:c], v[name + ".qkv.bias"][c:2 * c] = SCORE_SCALE, 0.0
    v["rel_bias"][:] = LOG2E
    return matrices, vectors


def relative_index():
    """[query][key] -> index of the relative bias, flattened"""
    at = torch.stack(torch.meshgrid(torch.arange(WINDOW), torch.arange(WINDOW), indexing="ij"), -1).view(-1, 2)
    d = at[None, :, :] - at[:, None, :] + 7  # key - query
    return (15 * d[..., 0] + d[..., 1]).reshape(-1)


class Weights:
    """Parameters as a step uses them."""

    def __init__(self, parameters, kind):
        device = parameters.vectors.device
        if (device, kind) not in _index:
            _index[device, kind] = relative_index().to(device)
            if kind == torch.bfloat16:
                k_native.setup()
        matrices, vectors = parameters.scaled()
        if kind != torch.bfloat16:
            matrices = half_through(matrices)
        self.kind, self.matrix = kind, split_named(matrices.to(kind), matrix_shapes())
        named, same = split_named(vectors.to(kind), vector_shapes()), split_named(vectors, vector_shapes())
        self.bias = {n: named[n + ".bias"] for n in matrix_shapes() if n + ".bias" in named}
        tables = same["rel_bias"].index_select(1, _index[device, kind]).split([heads_of(n) for n in LEVELS])
        self.table = {n: t.reshape(-1, 64, 64) for n, t in zip(LEVELS, tables)}
        self.gaussians = gaussians(same["gaussians"])
        self.growth = None  # a list: network() adds what its layers' outputs cost

    def pair(self, name):
        return self.matrix[name], self.bias[name]


# ---- operations: native in bfloat16, else PyTorch ----

def fast(x):
    return x.dtype == torch.bfloat16


def normalised(x):
    if fast(x):
        return k_native.norm(x)
    return half(x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5))


def norm_backward(x, g, residual):
    if fast(x):
        return k_native.norm_backward(x, g, residual)
    r = torch.rsqrt((x.square().mean(-1, keepdim=True) + 1e-5).clamp_min(SMALLEST_MEAN))  # native/k_blocks.cu says why
    return residual + r * (g - x * (r * r * (x * g).mean(-1, keepdim=True)))


def activated(y):
    return k_native.act(y) if fast(y) else half(activation(y))


def act_backward(y, g):
    if fast(y):
        return k_native.act_backward(y, g)
    c = y.clamp(-2.4, 2.4)
    return g * (0.5 + c * (0.412 - 0.081 * c.abs()) + torch.where(y.abs() < 2.4, y * (0.412 - 0.162 * y.abs()), torch.zeros_like(y)))


_windows = {}


def windows(grid, level, shift, device):
    """[windows, 64] tokens of a sample, -1 outside the grid."""
    key = (grid, level, shift, device)
    if key not in _windows:
        w, h = grid[0] >> level, grid[1] >> level
        ys, xs = torch.arange(-shift, h, WINDOW), torch.arange(-shift, w, WINDOW)
        i = torch.arange(WINDOW * WINDOW)
        y = (ys[:, None, None] + i // WINDOW).expand(-1, len(xs), -1)
        x = (xs[None, :, None] + i % WINDOW).expand(len(ys), -1, -1)
        at = token_index(x, y, grid, level)
        _windows[key] = torch.where((x >= 0) & (y >= 0) & (x < w) & (y < h), at, torch.full_like(at, -1)).reshape(-1, WINDOW * WINDOW).to(device)
    return _windows[key]


def token_index(x, y, grid, level):
    """Index of a token in the order of native/k_stages.h."""
    bits = 5 - level
    at = (torch.div(y, 1 << bits, rounding_mode="floor") * (grid[0] >> 5) + torch.div(x, 1 << bits, rounding_mode="floor")) << 2 * bits
    for k in range(bits):
        at = at + ((x >> k & 1) << 2 * k) + ((y >> k & 1) << 2 * k + 1)
    return at


def attention_torch(qkv, table, value_bias, grid, level, shift):
    """qkv [B * tokens, 3C] without the values' bias -> [B * tokens, C]"""
    tokens, heads = (grid[0] >> level) * (grid[1] >> level), table.shape[0]
    c, at = qkv.shape[1] // 3, windows(grid, level, shift, qkv.device)
    x = qkv.view(-1, tokens, 3 * c)
    q, k, v = x[:, at.clamp_min(0)].view(-1, WINDOW * WINDOW, 3, heads, HEAD_WIDTH).permute(2, 0, 3, 1, 4)
    s = (q @ k.transpose(-1, -2) + table).view(x.shape[0], len(at), heads, 64, 64)
    s = s.masked_fill((at < 0)[None, :, None, None, :], -1e30).view(-1, heads, 64, 64)
    p = 256.0 * torch.exp2(s - s.amax(-1, keepdim=True).detach())
    o = half_through(p) @ v / p.sum(-1, keepdim=True)
    o = o.transpose(1, 2).reshape(x.shape[0], -1, c)
    inside = (at >= 0).reshape(-1).nonzero()[:, 0]
    out = x.new_zeros(x.shape[0], tokens, c).index_copy(1, at.reshape(-1)[inside], o[:, inside])
    return half_through(out.view(-1, c) + value_bias)


def attention_forward(qkv, table, value_bias, place):
    """The fast one has the values' bias in qkv already."""
    return k_native.attention(qkv, table, *place) if fast(qkv) else attention_torch(qkv, table, value_bias, *place)


def attention_backward(qkv, table, grad, place):
    if fast(qkv):
        return k_native.attention_backward(qkv, table, grad, *place)
    with torch.enable_grad():
        inputs = [t.detach().requires_grad_() for t in (qkv, table)]
        return torch.autograd.grad(attention_torch(*inputs, grad.new_zeros(grad.shape[1]), *place), inputs, grad)


def weight_gradient(g, x):
    """g^T x: many tokens, few channels, so in parts that run side by side."""
    n, parts = g.shape[0], 1
    while n // parts > 2048 and n % (2 * parts) == 0:
        parts *= 2
    if parts == 1 or not fast(g):
        return g.t() @ x
    return torch.bmm(g.view(parts, n // parts, -1).transpose(1, 2), x.view(parts, n // parts, -1)).sum(0, dtype=torch.float32).to(g.dtype)


def column_sum(g):
    return g.sum(0, dtype=torch.float32).to(g.dtype) if fast(g) else g.sum(0)


class Linear(torch.autograd.Function):
    """x W^T + b, not rounded on the CPU"""

    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return torch.addmm(bias, x, weight.t())

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        g = g.contiguous()
        return g @ weight, weight_gradient(g, x), column_sum(g)


class Block(torch.autograd.Function):
    """A Swin block; place: grid, level, shift."""

    @staticmethod
    def forward(ctx, x, qkv_weight, qkv_bias, table, proj, mlp1, mlp1_bias, mlp2, place):
        c = x.shape[1]
        value_bias = qkv_bias[2 * c:]
        bias = qkv_bias if fast(x) else torch.cat([qkv_bias[:2 * c], torch.zeros_like(value_bias)])
        n1 = normalised(x)
        qkv = half(torch.addmm(bias, n1, qkv_weight.t()))
        o = attention_forward(qkv, table, value_bias, place)
        y = torch.addmm(x, o, proj.t())
        n2 = normalised(y)
        h = torch.addmm(mlp1_bias, n2, mlp1.t())
        u = activated(h)
        ctx.place = place
        ctx.save_for_backward(x, n1, qkv, o, y, n2, h, u, qkv_weight, table, proj, mlp1, mlp2)
        return half(torch.addmm(y, u, mlp2.t()))

    @staticmethod
    def backward(ctx, g):
        x, n1, qkv, o, y, n2, h, u, qkv_weight, table, proj, mlp1, mlp2 = ctx.saved_tensors
        g = g.contiguous()
        g_h = act_backward(h, g @ mlp2)
        g_y = norm_backward(y, g_h @ mlp1, g)
        g_o = g_y @ proj
        g_qkv, g_table = attention_backward(qkv, table, g_o, ctx.place)
        g_x = norm_backward(x, g_qkv @ qkv_weight, g_y)
        g_bias = column_sum(g_qkv)
        if not fast(g):
            g_bias = torch.cat([g_bias[:2 * x.shape[1]], g_o.sum(0)])
        return (g_x, weight_gradient(g_qkv, n1), g_bias, g_table, weight_gradient(g_y, o), weight_gradient(g_h, n2), column_sum(g_h),
                weight_gradient(g, u), None)


def block(x, name, weights, grid, phase):
    m, level = weights.matrix, LEVELS[name]
    return Block.apply(x, m[name + ".qkv"], weights.bias[name + ".qkv"], weights.table[name], m[name + ".proj"], m[name + ".mlp1"],
                       weights.bias[name + ".mlp1"], m[name + ".mlp2"], (grid, level, shift_of(level, phase)))


def growth(x):
    """What a layer's output costs above an rms of 4. Nothing normalises what merges and expands pass on: without this the levels
    amplify each other until the head is all saturation."""
    return 0.02 * torch.log(x.float().square().mean() / 16.0).clamp_min(0.0).square()


def network(tokens, weights, grid, phase, keep=None):
    """tokens [B * tokens, 32] of the arithmetic type -> head [B * tokens, 40]; `keep` collects the layers' outputs."""
    skips, x = [], tokens
    for name, level in LEVELS.items():
        c = WIDTHS[level]
        if name.startswith("enc") or level == 5:
            if level:
                x = Linear.apply(x.view(-1, 4 * x.shape[1]), *weights.pair(name + ".merge"))
        else:
            x = Linear.apply(x, *weights.pair(name + ".expand")).view(-1, c) + skips[level]
        x = block(x, name, weights, grid, phase)
        if name.startswith("enc"):
            skips.append(x)
        if weights.growth is not None:
            weights.growth.append(growth(x))
        if keep is not None:
            keep[name] = x
    return half_through(Linear.apply(x, *weights.pair("head")))
