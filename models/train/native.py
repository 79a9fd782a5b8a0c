"""The native libraries: built on demand, called through ctypes, wrapped for autograd.

generator/ makes scenes and renders them, native/ holds the stages around the network. Each is one source, compiled by
nvcc for CUDA tensors and by a C++ compiler for CPU tensors (float, and double for gradient checks).
"""
import ctypes
import hashlib
import os
import subprocess
import tempfile

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("D4R_TRAIN_BUILD", os.path.join(HERE, "build"))
CXX = ["g++", "-O3", "-march=x86-64-v3", "-fopenmp", "-fPIC", "-shared", "-std=c++17", "-x", "c++"]
NVCC = ["nvcc", "-O3", "-arch=sm_90", "-std=c++17", "--extended-lambda", "--use_fast_math", "-Xcompiler", "-fPIC",
        "-shared"]
SOURCES = {
    "generator": ["generator/generator.cu", "generator/build.h", "generator/scene.h", "generator/texture.h",
                  "generator/trace.h", "generator/vec.h"],
    "stages": ["native/stages.cu", "native/stages.h", "native/loops.h"],
    "attention": ["native/attention.cu"],
}
_libraries = {}


def library(name, kind):
    """name: generator or stages; kind: cuda, float or double."""
    if (name, kind) not in _libraries:
        digest = hashlib.sha256()
        for path in SOURCES[name]:
            with open(os.path.join(HERE, path), "rb") as f:
                digest.update(f.read())
        command = list(NVCC if kind == "cuda" else CXX) + (["-DREAL=double"] if kind == "double" else [])
        digest.update(" ".join(command).encode())
        out = os.path.join(BUILD, "%s_%s_%s.so" % (name, kind, digest.hexdigest()[:16]))
        if not os.path.exists(out):
            os.makedirs(BUILD, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=BUILD)
            os.close(handle)
            subprocess.run(command + [os.path.join(HERE, SOURCES[name][0]), "-o", temporary], check=True)
            os.rename(temporary, out)
        _libraries[name, kind] = ctypes.CDLL(out)
    return _libraries[name, kind]


def stream_of(device):
    if device.type != "cuda":
        return ctypes.c_void_p(0)
    return ctypes.c_void_p(torch.cuda.current_stream(device).cuda_stream)


def pointer(t):
    assert t.is_contiguous()
    return ctypes.c_void_p(t.data_ptr())


def check(status, what):
    if status != 0:
        raise RuntimeError("%s failed with CUDA error %d" % (what, status))


# ---- stages ----

# Order of a sample's parameters (stages.h, sample_params).
JITTER, PREVIOUS_JITTER, E1, E2, HISTORY, FRAME, PARAM_COUNT = 0, 2, 4, 5, 6, 7, 8
DOWNSAMPLE_SCALE = 3 * 0.36 / np.log(10.0)


class Geometry:
    """Sizes of a frame: render, output, reconstruction, half image."""

    def __init__(self, width, height, out_width, out_height, dither=True, round_half=True):
        self.w, self.h, self.ow, self.oh = width, height, out_width, out_height
        self.rw, self.rh = -(-3 * out_width // 2), -(-3 * out_height // 2)
        self.hw, self.hh = (self.rw + 1) // 2, (self.rh + 1) // 2
        self.sx, self.sy = 1.5 * out_width / width, 1.5 * out_height / height
        self.dither, self.round_half = dither, round_half

    def struct(self, batch, dtype):
        real = ctypes.c_double if dtype == torch.float64 else ctypes.c_float

        class Dims(ctypes.Structure):
            _fields_ = [(n, ctypes.c_int) for n in ("batch", "w", "h", "rw", "rh", "hw", "hh")] + [
                ("sx", real), ("sy", real), ("dither", ctypes.c_int), ("round_half", ctypes.c_int)]

        return Dims(batch, self.w, self.h, self.rw, self.rh, self.hw, self.hh, self.sx, self.sy, int(self.dither),
                    int(self.round_half))


def stage_library(t):
    return library("stages", "cuda" if t.is_cuda else "double" if t.dtype == torch.float64 else "float")


def call_stage(name, geometry, tensors_in, tensors_out, like):
    dims = geometry.struct(like.shape[0], like.dtype)
    inputs = (ctypes.c_void_p * len(tensors_in))(*[t.data_ptr() for t in tensors_in])
    for t in list(tensors_in) + list(tensors_out):
        assert t.is_contiguous() and t.dtype == like.dtype and t.device == like.device
    check(getattr(stage_library(like), name)(ctypes.byref(dims), inputs, *[pointer(t) for t in tensors_out],
                                             stream_of(like.device)), name)


def motion_candidates(geometry, depth, motion):
    a, b = torch.empty_like(motion), torch.empty_like(motion)
    dims = geometry.struct(motion.shape[0], motion.dtype)
    check(stage_library(motion).stage_candidates(ctypes.byref(dims), pointer(depth), pointer(motion), pointer(a), pointer(b),
                                                 stream_of(motion.device)), "stage_candidates")
    return a, b


class Features(torch.autograd.Function):
    """-> features [B,h,w,20] (FP8 values when geometry.dither), reprojected recurrent feature [B,4,h,w]"""

    @staticmethod
    def forward(ctx, geometry, color, motion_a, motion_b, motion_c, half, feature, previous_a, params):
        inputs = [t.detach() for t in (color, motion_a, motion_b, motion_c, half, feature, previous_a, params)]
        b, _, h, w = color.shape
        out = color.new_empty(b, h, w, 20)
        recurrent = color.new_empty(b, 4, h, w)
        call_stage("stage_features", geometry, inputs, [out, recurrent], color)
        ctx.geometry = geometry
        ctx.save_for_backward(*inputs)
        return out, recurrent

    @staticmethod
    def backward(ctx, g_out, g_recurrent):
        inputs = ctx.saved_tensors
        g_half, g_feature = torch.zeros_like(inputs[4]), torch.zeros_like(inputs[5])
        call_stage("stage_features_backward", ctx.geometry, inputs,
                   [g_out.contiguous(), g_recurrent.contiguous(), g_half, g_feature], inputs[0])
        return None, None, None, None, None, g_half, g_feature, None, None


class Reconstruct(torch.autograd.Function):
    """tile [B,9,h,w]: mix (A, C, B), gates, covariance -> history, display (compressed), half image"""

    @staticmethod
    def forward(ctx, geometry, color, tile, motion_a, motion_b, motion_c, history, params):
        inputs = [t.detach() for t in (color, tile, motion_a, motion_b, motion_c, history, params)]
        b = color.shape[0]
        out_a = color.new_empty(b, 3, geometry.rh, geometry.rw)
        out_b, half = torch.empty_like(out_a), color.new_empty(b, 3, geometry.hh, geometry.hw)
        call_stage("stage_reconstruct", geometry, inputs, [out_a, out_b, half], color)
        ctx.geometry = geometry
        ctx.save_for_backward(*inputs, out_a)
        return out_a, out_b, half

    @staticmethod
    def backward(ctx, g_a, g_b, g_half):
        *inputs, out_a = ctx.saved_tensors
        g = ctx.geometry
        g_history, g_tile = torch.zeros_like(out_a), torch.empty_like(inputs[1])
        scratch = out_a.new_empty(out_a.shape[0], 10, g.rh, g.rw)
        grads = [out_a, g_a.contiguous(), g_b.contiguous(), g_half.contiguous(), g_history, scratch, g_tile]
        pointers = (ctypes.c_void_p * len(grads))(*[t.data_ptr() for t in grads])
        dims = g.struct(out_a.shape[0], out_a.dtype)
        packed = (ctypes.c_void_p * len(inputs))(*[t.data_ptr() for t in inputs])
        check(stage_library(out_a).stage_reconstruct_backward(ctypes.byref(dims), packed, pointers, stream_of(out_a.device)),
              "stage_reconstruct_backward")
        return None, None, g_tile, None, None, None, g_history, None


class Downsample(torch.autograd.Function):
    """[B,C,rh,rw] -> [B,C,oh,ow], the weights of docs/stages.md's downsample; downsample() below is the stage"""

    @staticmethod
    def forward(ctx, geometry, image):
        ctx.geometry = geometry
        image = image.detach().contiguous()
        out = image.new_empty(image.shape[0], image.shape[1], geometry.oh, geometry.ow)
        g = geometry
        check(stage_library(image).stage_downsample(image.shape[0] * image.shape[1], g.rw, g.rh, g.ow, g.oh, pointer(image),
                                                    pointer(out), stream_of(image.device)), "stage_downsample")
        return out

    @staticmethod
    def backward(ctx, grad):
        g, grad = ctx.geometry, grad.contiguous()
        out = grad.new_empty(grad.shape[0], grad.shape[1], g.rh, g.rw)
        check(stage_library(grad).stage_downsample_backward(grad.shape[0] * grad.shape[1], g.rw, g.rh, g.ow, g.oh, pointer(grad),
                                                            pointer(out), stream_of(grad.device)), "stage_downsample_backward")
        return None, out


def downsample(geometry, image):
    """Compressed values at reconstruction size -> compressed values at output size: the mean is one of 10^(y / 1.08)"""
    return Downsample.apply(geometry, torch.exp(image / DOWNSAMPLE_SCALE)).log() * DOWNSAMPLE_SCALE


class AttentionDims(ctypes.Structure):
    _fields_ = [(n, ctypes.c_int) for n in ("batch", "h", "w", "heads", "shift", "exact")]


def round_fp8(x):
    """Nearest E4M3 values of a float CPU tensor."""
    x = x.detach().contiguous()
    out = torch.empty_like(x)
    library("attention", "float").round_fp8(ctypes.c_long(x.numel()), pointer(x), pointer(out))
    return out


class Attention(torch.autograd.Function):
    """qkv [B,h,w,3C], bias [heads,16,16] (query, key) -> [B,h,w,C]. bfloat16 on a GPU, float or double on the CPU."""

    @staticmethod
    def call(name, qkv, bias, heads, shift, exact, *more):
        kind = "cuda" if qkv.is_cuda else "double" if qkv.dtype == torch.float64 else "float"
        assert qkv.dtype == torch.bfloat16 if qkv.is_cuda else qkv.dtype == bias.dtype
        dims = AttentionDims(qkv.shape[0], qkv.shape[1], qkv.shape[2], heads, shift, int(exact))
        check(getattr(library("attention", kind), name)(ctypes.byref(dims), pointer(qkv), pointer(bias), *[pointer(t) for t in more],
                                                        stream_of(qkv.device)), name)

    @staticmethod
    def forward(ctx, qkv, bias, shift, exact):
        qkv, bias = qkv.detach().contiguous(), bias.detach().contiguous()
        heads = bias.shape[0]
        out = qkv.new_empty(*qkv.shape[:3], qkv.shape[3] // 3)
        Attention.call("attention_forward", qkv, bias, heads, shift, exact, out)
        ctx.save_for_backward(qkv, bias)
        ctx.options = (heads, shift, exact)
        return out

    @staticmethod
    def backward(ctx, grad):
        qkv, bias = ctx.saved_tensors
        g_qkv, g_bias = torch.empty_like(qkv), torch.zeros_like(bias)
        Attention.call("attention_backward", qkv, bias, *ctx.options, grad.contiguous(), g_qkv, g_bias)
        return g_qkv, g_bias, None, None


# ---- generator ----

VIEW = np.dtype([("scene", "<i4"), ("time", "<f4"), ("previous", "<f4"), ("jitter", "<f4", 2), ("footprint", "<f4"),
                 ("noise", "<f4"), ("noise_seed", "<u4")])
CLASSES = ["general", "thin", "text", "foliage", "particles", "night", "dark", "fast", "water", "facade", "chart", "emitters"]
STILL, OBJECTS, CAMERA = 0, 1, 2


class Generator:
    """Renders views of scenes held on a device."""

    def __init__(self, device):
        self.device = torch.device(device)
        self.lib = library("generator", "cuda" if self.device.type == "cuda" else "float")
        assert self.lib.gen_view_bytes() == VIEW.itemsize and self.lib.gen_class_count() == len(CLASSES)
        self.scene_bytes, self.frame_bytes = self.lib.gen_scene_bytes(), self.lib.gen_frame_bytes()

    def build(self, seed, kind, moving, width, height, out):
        """Fills out (uint8 array of scene_bytes) with a scene."""
        self.lib.gen_build(ctypes.c_uint64(seed), kind, moving, width, height, out.ctypes.data_as(ctypes.c_void_p))

    def render(self, scenes, views, geometry, reference=True):
        """scenes: uint8 tensor [n, scene_bytes] on the device; views: VIEW array [count].
        -> color [count,3,h,w], depth [count,h,w], motion [count,2,h,w], reference [count,3,oh,ow]"""
        n, g, dev = len(views), geometry, self.device
        raw = torch.from_numpy(np.ascontiguousarray(views).view(np.uint8).reshape(n, VIEW.itemsize)).to(dev)
        frames = torch.empty(n, self.frame_bytes, dtype=torch.uint8, device=dev)
        color, depth = torch.empty(n, 3, g.h, g.w, device=dev), torch.empty(n, g.h, g.w, device=dev)
        motion, stream = torch.empty(n, 2, g.h, g.w, device=dev), stream_of(dev)
        check(self.lib.gen_prepare(pointer(scenes), pointer(raw), n, pointer(frames), stream), "gen_prepare")
        check(self.lib.gen_low(pointer(scenes), pointer(frames), pointer(raw), n, g.w, g.h, pointer(color), pointer(depth),
                               pointer(motion), stream), "gen_low")
        if not reference:
            return color, depth, motion, None
        out = torch.empty(n, 3, g.oh, g.ow, device=dev)
        check(self.lib.gen_ref(pointer(scenes), pointer(frames), pointer(raw), n, g.ow, g.oh, pointer(out), stream), "gen_ref")
        return color, depth, motion, out
