"""Sequences made by hand for single questions: a bright emitter beside black, bad values in the planes."""
import json
import os
import shutil

import numpy as np

from procedural import halton

RENDER, RATIO, BLACK, EMITTER = 96, 2, 0.002, 100.0
SIDE, OFF_FRAME = 8, 16


def coverage(start, end, size, scale):
    """Share of every output pixel's interval that [start, end] (render pixels) covers."""
    edges = np.arange(size + 1) / scale
    return np.clip(np.minimum(edges[1:], end) - np.maximum(edges[:-1], start), 0, None) * scale


def emitter_position(frame, moving):
    """Left and top edge in render pixels, or None when it is off."""
    if moving:
        return 12.0 + 2.0 * frame, 40.0
    return (44.0, 44.0) if frame < OFF_FRAME else None


def write_emitter(folder, moving, frames=28):
    """A square of 100 on a ground of 0.002: still and then switched off, or moving two pixels a frame with right vectors."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    n, rows = RENDER, []
    for k in range(frames):
        jitter = (halton(k % 16 + 1, 2) - 0.5, halton(k % 16 + 1, 3) - 0.5)
        at, name = emitter_position(k, moving), lambda kind: "%s-%04d.bin" % (kind, k)
        color, reference = np.full((n, n, 4), BLACK, "<f2"), np.full((RATIO * n, RATIO * n, 4), BLACK)
        motion, depth = np.zeros((n, n, 2), "<f2"), np.full((n, n), 0.01, "<f4")
        if at is not None:
            x, y = np.arange(n) + 0.5 + jitter[0], np.arange(n) + 0.5 + jitter[1]
            inside = ((y >= at[1]) & (y < at[1] + SIDE))[:, None] & ((x >= at[0]) & (x < at[0] + SIDE))[None]
            color[inside] = EMITTER
            depth[inside], motion[inside] = 0.02, (-2.0 if moving else 0.0, 0.0)
            share = np.outer(*[coverage(a, a + SIDE, RATIO * n, RATIO) for a in (at[1], at[0])])
            reference += share[..., None] * (EMITTER - BLACK)
        color[..., 3] = reference[..., 3] = 1
        for kind, data in (("color", color), ("motion", motion), ("depth", depth), ("reference", reference.astype("<f2"))):
            data.tofile(os.path.join(folder, name(kind)))
        rows.append({kind: name(kind) for kind in ("color", "motion", "depth", "reference")})
        rows[-1].update(render=[n, n], jitter=list(jitter))
    with open(os.path.join(folder, "frames.json"), "w") as f:
        json.dump({"version": 1, "name": os.path.basename(folder), "output": [RATIO * n] * 2, "licence": "CC0-1.0", "frames": rows}, f)
    return folder


BAD_FRAME = 6
# plane, render pixel (x, y), value
BAD = (("color", (48, 48), np.nan), ("color", (20, 70), np.inf), ("motion", (60, 30), np.nan), ("motion", (30, 20), np.inf), ("depth", (72, 66), np.nan),
       ("depth", (80, 16), np.inf))


def write_bad_values(folder, source):
    """A copy of the sequence `source` with NaN and infinities in single pixels of one frame."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(source, folder)
    with open(os.path.join(folder, "frames.json")) as f:
        frame = json.load(f)["frames"][BAD_FRAME]
    w, h = frame["render"]
    for plane, (x, y), value in BAD:
        path, kind = os.path.join(folder, frame[plane]), "<f4" if plane == "depth" else "<f2"
        data = np.fromfile(path, kind).reshape(h, w, -1)
        data[y, x, 0] = value
        data.tofile(path)
    return folder
