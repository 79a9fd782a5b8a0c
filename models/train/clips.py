"""Endless batches of clips for one geometry. Each of the batch's slots walks through a clip, eight frames a step, with its
histories carried over; when the clip ends another starts. Short clips teach convergence, long ones that it lasts."""
import math

import numpy as np
import torch

import native
from pipeline import EXPOSED_MAX, auto_exposure, compress

#            general thin text foliage particles night dark fast water facade chart emitters
CLASS_SHARE = [0.14, 0.09, 0.08, 0.09, 0.06, 0.08, 0.05, 0.06, 0.08, 0.09, 0.13, 0.05]
# chunks in a clip: probability at a clip's start
LENGTHS = [(1, 0.42), (2, 0.24), (4, 0.16), (8, 0.10), (16, 0.06), (32, 0.02)]
PHASES = [8, 16, 16, 16, 18, 24, 32, 64]


def halton(index, base):
    f, r = 1.0, 0.0
    while index > 0:
        f /= base
        r += f * (index % base)
        index //= base
    return r


_halton = np.array([[halton(i + 1, 2) - 0.5, halton(i + 1, 3) - 0.5] for i in range(64)], np.float32)


def random_clip(rng, ratio, still_share):
    """What a slot does until its clip ends: everything but the scenes."""
    kind = int(rng.choice(len(CLASS_SHARE), p=CLASS_SHARE))
    still = rng.random() < (max(still_share, 0.45) if native.CLASSES[kind] == "chart" else still_share)
    moving = native.STILL if still else native.OBJECTS if rng.random() < 0.2 else native.CAMERA
    chunks = int(rng.choice([n for n, _ in LENGTHS], p=[p for _, p in LENGTHS]))
    if still and rng.random() < 0.5:
        chunks = max(chunks, int(rng.choice([4, 8, 16])))
    clip = {
        "class": kind, "moving": moving, "chunks": chunks, "seeds": [int(rng.integers(1, 2 ** 62)) for _ in range(2)],
        "start": float(rng.uniform(-20, 20)), "step": 0.0 if still else float(rng.choice([1.0, 1.0, 1.0, 0.5, 2.0])),
        "phases": int(rng.choice(PHASES)), "phase": int(rng.integers(0, 64)), "jitter": 1.0,
        "footprint": 0.0 if rng.random() < 0.3 else float(2.0 ** rng.uniform(-1.0, 0.5)) / ratio,
        "noise": float(rng.uniform(0.01, 0.15)) if rng.random() < 0.05 else 0.0,
        "gain": float(math.exp(rng.uniform(-0.5, 0.6))), "drift": 0.0, "cut": -1, "cut_reset": False,
    }
    pick = rng.random()
    if pick < 0.04:
        clip["jitter"] = 0.0
    elif pick < 0.08:
        clip["phases"] = 0  # random positions
    pick = rng.random()
    if pick < 0.15:
        clip["drift"] = float(rng.normal() * 0.03)
    elif pick < 0.5:
        clip["drift"] = None  # small fluctuation, as automatic exposure has
    if not still and rng.random() < 0.06:
        clip["cut"], clip["cut_reset"] = int(rng.integers(1, 8 * chunks)), bool(rng.random() < 0.4)
    return clip


class Clips:
    def __init__(self, generator, geometry, batch, frames, seed, surfaces, still=0.25):
        self.generator, self.geometry, self.batch, self.frames, self.surfaces = generator, geometry, batch, frames, surfaces
        self.rng, self.still = np.random.default_rng(seed), still
        self.ratio = math.sqrt(geometry.ow * geometry.oh / (geometry.w * geometry.h))
        self.slots = [None] * batch
        self.host = np.zeros((2 * batch, generator.scene_bytes), np.uint8)
        self.scenes = torch.zeros(2 * batch, generator.scene_bytes, dtype=torch.uint8, device=generator.device)
        self.base = torch.ones(batch, device=generator.device)

    def restart(self, i):
        clip = random_clip(self.rng, self.ratio, self.still)
        for k in range(2 if clip["cut"] >= 0 else 1):
            self.generator.build(clip["seeds"][k], clip["class"], clip["moving"], self.geometry.w, self.geometry.h, self.host[2 * i + k])
        clip["frame"], clip["factor"] = 0, 1.0
        self.slots[i] = clip

    def jitter(self, clip, frame):
        if clip["phases"] == 0:
            j = self.rng.uniform(-0.5, 0.5, 2)
        else:
            j = _halton[(clip["phase"] + frame) % clip["phases"]]
        return np.asarray(j, np.float32) * clip["jitter"]

    def slot_frame(self, i, view, params, weight):
        """One frame of a slot: its view, parameters (exposures as factors), loss weights (colour, temporal)."""
        clip = self.slots[i]
        f, cut = clip["frame"], clip["cut"]
        after_cut = 0 <= cut <= f
        reset = f == 0 or (f == cut and clip["cut_reset"])
        time = clip["start"] + f * clip["step"]
        jitter = self.jitter(clip, f)
        view["scene"], view["time"], view["previous"] = 2 * i + int(after_cut), time, time - clip["step"]
        view["jitter"], view["footprint"] = jitter, clip["footprint"]
        view["noise"], view["noise_seed"] = clip["noise"], self.rng.integers(1, 2 ** 31)
        before = clip["factor"]
        if clip["drift"] is None:
            clip["factor"] *= math.exp(self.rng.normal() * 0.01)
        else:
            clip["factor"] = min(max(clip["factor"] * math.exp(clip["drift"]), 0.25), 4.0)
        params[0:2], params[2:4] = jitter, jitter if reset else clip["last_jitter"]
        params[native.E1], params[native.E2] = clip["factor"], clip["factor"] if reset else before
        params[native.HISTORY], params[native.FRAME] = 0.0 if reset else 1.0, (f + clip["phase"]) & 7
        clip["last_jitter"] = jitter
        since = f - cut if after_cut else f
        weight[0] = (0.4, 0.7, 0.9)[since] if since < 3 else 1.0
        # Still images: a step sees eight frames, so the loss cannot know what a small change now gains in the next hundred. A full
        # temporal weight teaches to freeze there.
        weight[1] = 0.0 if reset or f == cut else 0.1 if clip["moving"] == native.STILL else 1.0
        clip["frame"] += 1

    def plan(self):
        """Host side of a step: views, parameters, weights of frames x batch; which slots start anew."""
        t, b = self.frames, self.batch
        views, fresh = np.zeros((t, b), native.VIEW), np.zeros(b, np.float32)
        params, weights = np.zeros((t, b, native.PARAM_COUNT), np.float32), np.zeros((t, b, 2), np.float32)
        gains = np.ones(b, np.float32)
        for i in range(b):
            if self.slots[i] is None or self.slots[i]["frame"] >= self.frames * self.slots[i]["chunks"]:
                self.restart(i)
                fresh[i], gains[i] = 1.0, self.slots[i]["gain"]
            for k in range(t):
                self.slot_frame(i, views[k, i], params[k, i], weights[k, i])
        return views, params, weights, fresh, gains

    def next(self):
        """-> dict of tensors, frames first: color, reference (compressed, exposed), params, weights, and the preset's surfaces"""
        views, params, weights, fresh, gains = self.plan()
        dev, t, b, g = self.generator.device, self.frames, self.batch, self.geometry
        send = lambda a: torch.from_numpy(np.ascontiguousarray(a)).to(dev, non_blocking=True)
        self.scenes.copy_(torch.from_numpy(self.host), non_blocking=True)
        color, depth, motion, reference = self.generator.render(self.scenes, views.reshape(-1), g)
        params, fresh, gains, weights = send(params), send(fresh), send(gains), send(weights)
        self.base = torch.where(fresh > 0, auto_exposure(color[:b]) * gains, self.base)
        params[..., native.E1:native.E2 + 1] *= self.base[None, :, None]
        exposure = params[..., native.E1].reshape(-1, 1, 1, 1)
        surfaces = self.surfaces(g, depth, motion)
        shape = lambda x: x.view(t, b, *x.shape[1:])
        return {
            "color": shape(compress((color * exposure).clamp_max(EXPOSED_MAX))), **{k: shape(v) for k, v in surfaces.items()},
            "reference": shape(compress(reference * exposure)), "params": params, "weights": weights,
        }
