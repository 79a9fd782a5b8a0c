"""One frame of preset M around network.predict, for training (differentiable) and for deployment (the runtime's roundings)."""
import math

import torch

import native
import network

SCALE = 0.36 / math.log(10.0)
EXPOSED_MAX = 32752.0
DISPLAY_RANGE = 2.45
DISPLAY_STEPS = (2047.0, 2047.0, 1023.0)


def compress(x):
    return torch.log((100 * x + 1).clamp_min(1e-4)) * SCALE


def expand(v):
    return (torch.exp(v.clamp(1e-4, 3.0) / SCALE) - 1) * 0.01


def half_rounded(x):
    return x.half().float()


class State:
    """What a frame leaves for the next."""

    NAMES = ("history", "half", "feature", "motion_a")

    def __init__(self, geometry, batch, device):
        g, z = geometry, lambda *s: torch.zeros(batch, *s, device=device)
        self.history, self.half = z(3, g.rh, g.rw), z(3, g.hh, g.hw)
        self.feature, self.motion_a = z(4, g.h, g.w), z(2, g.h, g.w)

    def detached(self, requires_grad):
        s = State.__new__(State)
        for name in State.NAMES:
            t = getattr(self, name).detach()
            setattr(s, name, t.requires_grad_() if requires_grad and name != "motion_a" else t)
        return s

    def copy_(self, other):
        for name in State.NAMES:
            getattr(self, name).copy_(getattr(other, name).detach())


def surfaces(geometry, depth, motion):
    """What the stages read of a frame besides its colour: motion candidates A, B, C; depth larger nearer."""
    flat = native.Geometry(geometry.w, geometry.h, geometry.ow, geometry.oh)
    a, b = native.motion_candidates(flat, depth, motion)
    return {"a": a, "b": b, "c": motion}


def frame(geometry, predict, color, motions, params, state):
    """color [B,3,h,w] compressed and exposed; motions: candidates A, B, C in render pixels; params [B,8]
    -> display image at reconstruction size (compressed), next state"""
    a, b, c = motions
    features, recurrent = native.Features.apply(geometry, color, a, b, c, state.half, state.feature, state.motion_a, params)
    tile, feature = predict(features, recurrent)
    nxt = State.__new__(State)
    nxt.history, display, nxt.half = native.Reconstruct.apply(geometry, color, tile, a, b, c, state.history, params)
    nxt.feature, nxt.motion_a = feature, a
    return display, nxt


def repaired(color):
    """Non-finite pixels: mean of the finite 3x3 neighbours, else 0. [B,3,h,w]"""
    bad = ~torch.isfinite(color).all(1, keepdim=True)
    if not bad.any():
        return color
    good = (~bad).float()
    value = torch.where(bad, torch.zeros_like(color), color)
    box = lambda t: torch.nn.functional.avg_pool2d(t, 3, 1, 1, count_include_pad=True) * 9
    return torch.where(bad, box(value) / box(good).clamp_min(1.0), color)


def auto_exposure(color):
    """[B,3,h,w] linear -> [B]"""
    luma = (0.25 * color[:, 0] + 0.5 * color[:, 1] + 0.25 * color[:, 2]).clamp(0.0, 10000.0)
    return 0.23547077 / luma.double().mean((1, 2)).clamp_min(0.005).float()


def packed(display):
    """The display buffer: 11, 11 and 10 bits of compressed values."""
    steps = torch.tensor(DISPLAY_STEPS, device=display.device).view(1, 3, 1, 1)
    return torch.floor((display / DISPLAY_RANGE).clamp(0, 1) * steps + 0.5) / steps * DISPLAY_RANGE


class Upscaler:
    """Deployment: frames in, linear images out, as the runtime computes them (HDR, automatic exposure)."""

    def __init__(self, parameters, geometry, device="cpu", math_type=torch.float32):
        self.geometry, self.device = geometry, device
        with torch.no_grad():
            self.weights, self.pieces = network.Weights(parameters, math_type), network.Pieces()
        self.state, self.exposure, self.jitter, self.index = None, None, None, 0

    @torch.no_grad()
    def __call__(self, color, depth, motion, jitter, reset=False):
        """color [B,3,h,w] linear, depth [B,h,w] larger nearer, motion [B,2,h,w] render pixels, jitter (x, y) -> [B,3,H,W]"""
        g, batch = self.geometry, color.shape[0]
        color = repaired(color).clamp(0.0, 65504.0)
        exposure = auto_exposure(color)
        reset = reset or self.state is None
        if reset:
            self.state, self.exposure, self.jitter = State(g, batch, self.device), exposure, jitter
        scale = torch.tensor([g.sx, g.sy], device=self.device).view(1, 2, 1, 1)
        motion = half_rounded(torch.nan_to_num(motion, 0.0, 0.0, 0.0) * scale) / scale
        depth = torch.nan_to_num(depth, 0.0, 0.0, 0.0).contiguous()
        motion = motion.contiguous()
        a, b = native.motion_candidates(g, depth, motion)
        params = torch.zeros(batch, native.PARAM_COUNT, device=self.device)
        params[:, 0], params[:, 1], params[:, 2], params[:, 3] = jitter[0], jitter[1], self.jitter[0], self.jitter[1]
        params[:, native.E1], params[:, native.E2] = exposure, self.exposure
        params[:, native.HISTORY], params[:, native.FRAME] = 0.0 if reset else 1.0, float(self.index & 7)
        e = exposure.view(-1, 1, 1, 1)
        compressed = compress((color * e).clamp_max(EXPOSED_MAX)).contiguous()
        predict = lambda f, r: network.predict(f, r, self.weights, self.pieces)
        display, self.state = frame(g, predict, compressed, (a, b, motion), params, self.state)
        self.exposure, self.jitter, self.index = exposure, jitter, self.index + 1
        small = native.downsample(g, packed(display))
        linear = (torch.exp(small / SCALE) - 1) * 0.01 / e
        return half_rounded(linear.clamp(0.0, 65504.0))
