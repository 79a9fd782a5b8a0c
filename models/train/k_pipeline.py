"""One frame of preset K around k_network.network, for training (differentiable) and for deployment (the runtime's roundings)."""
import torch
import torch.nn.functional as F

import k_native
import k_network
import native
from pipeline import EXPOSED_MAX, SCALE, auto_exposure, compress, half_rounded, repaired


class State:
    """What a frame leaves for the next: history (compressed colour, confidence) and the tokens' recurrent features."""

    NAMES = ("history", "recurrent")

    def __init__(self, geometry, batch, device):
        g = geometry
        self.history = torch.zeros(batch, 4, g.oh, g.ow, device=device)
        self.recurrent = torch.zeros(batch * g.gw * g.gh, k_network.RECURRENT, device=device)

    def detached(self, requires_grad):
        s = State.__new__(State)
        for name in State.NAMES:
            t = getattr(self, name).detach()
            setattr(s, name, t.requires_grad_() if requires_grad else t)
        return s

    def copy_(self, other):
        for name in State.NAMES:
            getattr(self, name).copy_(getattr(other, name).detach())


def surfaces(geometry, depth, motion):
    """What the stages read of a frame besides its colour; depth larger nearer, motion in render pixels."""
    g = geometry
    scale = torch.tensor([g.ow / g.w, g.oh / g.h], dtype=motion.dtype, device=motion.device).view(1, 2, 1, 1)
    motion = (motion * scale).contiguous()
    nearness = depth.clamp(0, 1)[:, None].contiguous()
    span = torch.cat([-F.max_pool2d(-nearness, 3, 1, 1), F.max_pool2d(nearness, 3, 1, 1)], 1)
    return {"a": native.motion_candidates(native.Geometry(g.w, g.h, g.ow, g.oh), nearness[:, 0].contiguous(), motion)[0], "c": motion, "span": span}


def frame(geometry, weights, data, params, state, phase, table=None):
    """data: color, a, c, span of one frame -> shown image (compressed), next state"""
    g, history, recurrent = geometry, state.history, state.recurrent
    features = k_native.Features.apply(g, data["color"], data["a"], data["c"], data["span"], history, recurrent, params)
    head = k_network.network(k_network.half_through(features.to(weights.kind)), weights, g.grid, phase).to(features.dtype)
    nxt = State.__new__(State)
    nxt.history, shown = k_native.Reconstruct.apply(g, data["color"], head, data["a"], data["c"], history, weights.gaussians, table, params)
    feature = torch.tanh(head[:, 32:])
    nxt.recurrent = k_network.half_through(feature).contiguous()
    return shown, nxt


def tables(gaussians):
    """[16 tables][64 phases][16 shapes][16 taps] of lut.bin; no shape's weights sum to less than 1/16384."""
    g = gaussians.detach().double().cpu()
    at, tap = (torch.arange(8, dtype=torch.float64) + 0.5) / 8, torch.arange(4, dtype=torch.float64) - 1
    d = tap[None, :] - at[:, None]  # phase, tap
    dx, dy = d[None, :, None, None, :], d[:, None, None, :, None]
    a, b, c = (g[:, i].view(1, 1, -1, 1, 1) for i in range(3))
    out = []
    for i in range(16):
        w = torch.exp(-(a * dx * dx + b * dy * dy + 2 * c * dx * dy) * (0.5 + i * 3 / 28) / 4).reshape(64, k_network.SHAPES, 16)
        out.append(w * (1 / 16000 / w.sum(-1, keepdim=True)).clamp_min(1))
    return torch.stack(out).half()


class Upscaler:
    """Deployment: frames in, linear images out, as the runtime computes them (HDR, automatic exposure)."""

    def __init__(self, parameters, geometry, device="cpu", math_type=torch.float32):
        self.geometry, self.device = geometry, device
        with torch.no_grad():
            self.weights = k_network.Weights(parameters, math_type)
            self.table = tables(self.weights.gaussians)[geometry.table].float().to(device).contiguous()
        self.state, self.exposure, self.jitter, self.index = None, None, None, 0

    @torch.no_grad()
    def __call__(self, color, depth, motion, jitter, reset=False):
        """color [B,3,h,w] linear, depth [B,h,w] larger nearer, motion [B,2,h,w] render pixels, jitter (x, y) -> [B,3,H,W]"""
        g, batch = self.geometry, color.shape[0]
        color = repaired(color).clamp(0.0, 65504.0)
        reset = reset or self.state is None
        if reset:
            self.state = State(g, batch, self.device)
        exposure = auto_exposure(color) if reset or self.index % 2 == 0 else self.exposure
        before, jitter_before = (exposure, jitter) if reset else (self.exposure, self.jitter)
        data = surfaces(g, torch.nan_to_num(depth, 0.0, 0.0, 0.0), torch.nan_to_num(motion, 0.0, 0.0, 0.0))
        data["a"], data["c"] = half_rounded(data["a"]), half_rounded(data["c"])
        e = exposure.view(-1, 1, 1, 1)
        data["color"] = compress((color * e).clamp_max(EXPOSED_MAX)).contiguous()
        params = torch.zeros(batch, native.PARAM_COUNT, device=self.device)
        for i, v in enumerate((*jitter, *jitter_before)):
            params[:, i] = v
        params[:, native.E1], params[:, native.E2] = exposure, before
        params[:, native.HISTORY] = 0.0 if reset else 1.0
        shown, self.state = frame(g, self.weights, data, params, self.state, self.index % k_network.PHASES, self.table)
        self.exposure, self.jitter, self.index = exposure, jitter, self.index + 1
        linear = (torch.exp(shown.clamp(0.0, 3.0) / SCALE) - 1) * 0.01 / e
        return half_rounded(linear.clamp(0.0, 65504.0))
