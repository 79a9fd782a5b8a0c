"""Native code of preset K: the stages (k_stages.cu, every device) and the blocks' kernels (k_blocks.cu, GPU)."""
import ctypes
import math

import torch

import native
from native import check, pointer, stream_of

native.SOURCES["k_stages"] = ["native/k_stages.cu", "native/k_stages.h", "native/stages.h", "native/loops.h"]
native.SOURCES["k_blocks"] = ["native/k_blocks.cu"]


def table_of(ratio):
    """The even table nearest to the ratio of output to render, at most 14, ties down."""
    return min(range(0, 16, 2), key=lambda i: (abs(0.5 + i * 3 / 28 - ratio), i))


class Geometry:
    """Sizes of a frame: render, output, token grid (None: the least multiple of 32 tokens)."""

    def __init__(self, width, height, out_width, out_height, grid=None, round_half=True):
        self.w, self.h, self.ow, self.oh = width, height, out_width, out_height
        up = lambda n: -(-n // 128) * 32
        self.gw, self.gh = grid or (up(out_width), up(out_height))
        self.table = table_of(math.sqrt(out_width * out_height / (width * height)))
        self.round_half = round_half

    @property
    def grid(self):
        return self.gw, self.gh

    def struct(self, batch, dtype):
        real = ctypes.c_double if dtype == torch.float64 else ctypes.c_float

        class Dims(ctypes.Structure):
            _fields_ = [(n, ctypes.c_int) for n in ("batch", "w", "h", "ow", "oh", "gw", "gh")] + [
                (n, real) for n in ("sx", "sy", "rho")] + [("round_half", ctypes.c_int)]

        return Dims(batch, self.w, self.h, self.ow, self.oh, self.gw, self.gh, self.w / self.ow, self.h / self.oh,
                    0.5 + self.table * 3 / 28, int(self.round_half))


def call(name, geometry, inputs, outputs, packed=False):
    """`inputs` may hold None. packed: the outputs too are a structure of pointers."""
    like = inputs[0]
    for t in inputs + outputs:
        assert t is None or (t.is_contiguous() and t.dtype == like.dtype and t.device == like.device)
    kind = "cuda" if like.is_cuda else "double" if like.dtype == torch.float64 else "float"
    structure = lambda ts: (ctypes.c_void_p * len(ts))(*[None if t is None else t.data_ptr() for t in ts])
    results = [structure(outputs)] if packed else [pointer(t) for t in outputs]
    dims = geometry.struct(like.shape[0], like.dtype)
    check(getattr(native.library("k_stages", kind), name)(ctypes.byref(dims), structure(inputs), *results, stream_of(like.device)), name)


class Features(torch.autograd.Function):
    """color [B,3,h,w] compressed and exposed, motion [B,2,h,w] output pixels (of the nearest of 3x3; own), range [B,2,h,w] least
    and greatest nearness, history [B,4,oh,ow], recurrent [B*tokens,8], params [B,8] -> [B*tokens,32]"""

    @staticmethod
    def forward(ctx, geometry, color, motion_a, motion, span, history, recurrent, params):
        inputs = [t.detach() for t in (color, motion_a, motion, span, history, recurrent, params)]
        out = color.new_empty(color.shape[0] * geometry.gw * geometry.gh, 32)
        call("k_stage_features", geometry, inputs, [out])
        ctx.geometry = geometry
        ctx.save_for_backward(*inputs)
        return out

    @staticmethod
    def backward(ctx, g):
        inputs = list(ctx.saved_tensors)
        g_history, g_recurrent = torch.zeros_like(inputs[4]), torch.zeros_like(inputs[5])
        call("k_stage_features_backward", ctx.geometry, inputs, [g.contiguous(), g_history, g_recurrent])
        return None, None, None, None, None, g_history, g_recurrent, None


class Reconstruct(torch.autograd.Function):
    """head [B*tokens,40], gaussians [16,3] (A, B, C), table [64,16,16] or None -> history [B,4,oh,ow], shown [B,3,oh,ow] (compressed)"""

    @staticmethod
    def forward(ctx, geometry, color, head, motion_a, motion, history, gaussians, table, params):
        inputs = [None if t is None else t.detach().contiguous() for t in (color, head, motion_a, motion, history, gaussians, table, params)]
        after, shown = torch.empty_like(inputs[4]), color.new_empty(color.shape[0], 3, geometry.oh, geometry.ow)
        call("k_stage_reconstruct", geometry, inputs, [after, shown])
        ctx.geometry = geometry
        ctx.save_for_backward(*inputs)
        return after, shown

    @staticmethod
    def backward(ctx, g_after, g_shown):
        inputs = list(ctx.saved_tensors)
        g_before, g_head = torch.zeros_like(inputs[4]), torch.zeros_like(inputs[1])
        g_gaussians = g_before.new_zeros(g_before.shape[0], 16, 3)
        call("k_stage_reconstruct_backward", ctx.geometry, inputs, [g_after.contiguous(), g_shown.contiguous(), g_before, g_head, g_gaussians],
             packed=True)
        return None, None, g_head, None, None, g_before, g_gaussians.sum(0), None, None


# ---- blocks, on a GPU ----

class AttentionDims(ctypes.Structure):
    _fields_ = [(n, ctypes.c_int) for n in ("batch", "gw", "gh", "level", "heads", "shift")]


def blocks():
    return native.library("k_blocks", "cuda")


def setup():
    check(blocks().k_attention_setup(), "k_attention_setup")


def plain(*tensors):
    for t in tensors:
        assert t.dtype == torch.bfloat16 and t.is_cuda and t.is_contiguous()


def norm(x):
    plain(x)
    out = torch.empty_like(x)
    check(blocks().k_norm(x.shape[0], x.shape[1], pointer(x), pointer(out), stream_of(x.device)), "k_norm")
    return out


def norm_backward(x, g, residual):
    plain(x, g, residual)
    out = torch.empty_like(x)
    check(blocks().k_norm_backward(x.shape[0], x.shape[1], pointer(x), pointer(g), pointer(residual), pointer(out), stream_of(x.device)),
          "k_norm_backward")
    return out


def act(y):
    plain(y)
    out = torch.empty_like(y)
    check(blocks().k_act(ctypes.c_long(y.numel()), pointer(y), pointer(out), stream_of(y.device)), "k_act")
    return out


def act_backward(y, g):
    plain(y, g)
    out = torch.empty_like(y)
    check(blocks().k_act_backward(ctypes.c_long(y.numel()), pointer(y), pointer(g), pointer(out), stream_of(y.device)), "k_act_backward")
    return out


def attention_dims(qkv, table, grid, level, shift):
    tokens = (grid[0] >> level) * (grid[1] >> level)
    return AttentionDims(qkv.shape[0] // tokens, grid[0], grid[1], level, table.shape[0], shift)


def attention(qkv, table, grid, level, shift):
    plain(qkv)
    table = table.contiguous()
    assert table.dtype == torch.float32
    out = qkv.new_empty(qkv.shape[0], qkv.shape[1] // 3)
    dims = attention_dims(qkv, table, grid, level, shift)
    check(blocks().k_attention(ctypes.byref(dims), pointer(qkv), pointer(table), pointer(out), stream_of(qkv.device)), "k_attention")
    return out


def attention_backward(qkv, table, grad, grid, level, shift):
    plain(qkv, grad)
    table = table.contiguous()
    g_qkv, g_table = torch.empty_like(qkv), torch.zeros_like(table)
    dims = attention_dims(qkv, table, grid, level, shift)
    check(blocks().k_attention_backward(ctypes.byref(dims), pointer(qkv), pointer(table), pointer(grad), pointer(g_qkv), pointer(g_table),
                                        stream_of(qkv.device)), "k_attention_backward")
    return g_qkv, g_table
