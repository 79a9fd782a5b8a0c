"""Clips of the training generator, of seeds that training never draws, as frames.json sequences for d4r-m.

    procedural.py --out DIR [--class NAME]... [--clips N] [--frames N] [--render W H] [--output W H] [--moving still|objects|camera] [--ldr]

Training draws its seeds from 1 to 2^62; those here have bit 62 set.
"""
import argparse
import json
import os
import shutil
import sys

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "train"))
import native  # noqa: E402
from clips import halton  # noqa: E402

HELD_OUT, CUT_SEED = 1 << 62, 500009
MOVING = {"still": native.STILL, "objects": native.OBJECTS, "camera": native.CAMERA}
DEFAULTS = {"class": "general", "seed": 0, "render": (96, 96), "output": (192, 192), "frames": 16, "moving": "camera", "phases": 16,
            "footprint": 0.0, "noise": 0.0, "start": 0.0, "hdr": True, "cut": None, "cut_reset": False, "reference_from": 0, "exposure": None}
_generators = []


def generator():
    if not _generators:
        _generators.append(native.Generator("cpu"))
    return _generators[0]


def scenes_of(spec):
    """Scene bytes of the clip, and of what follows its cut."""
    g, (w, h) = generator(), spec["render"]
    kind, host = native.CLASSES.index(spec["class"]), np.zeros((2, generator().scene_bytes), np.uint8)
    for k, seed in enumerate((spec["seed"], spec["seed"] + CUT_SEED)):
        g.build(HELD_OUT + 1000003 * kind + seed, kind, MOVING[spec["moving"]], w, h, host[k])
    return torch.from_numpy(host)


def views_of(spec):
    """One view a frame. After a cut time goes on: the second scene is the same clip whether one cuts to it or not."""
    views = np.zeros(spec["frames"], native.VIEW)
    for k, v in enumerate(views):
        jitter = (halton(k % spec["phases"] + 1, 2) - 0.5, halton(k % spec["phases"] + 1, 3) - 0.5) if spec["phases"] else (0.0, 0.0)
        v["scene"], v["jitter"], v["footprint"] = int(spec["cut"] is not None and k >= spec["cut"]), jitter, spec["footprint"]
        v["time"] = spec["start"] + (0 if spec["moving"] == "still" else k)
        v["previous"] = v["time"] - (0 if spec["moving"] == "still" else 1)
        v["noise"], v["noise_seed"] = spec["noise"], k + 1
    return views


def display_referred(color):
    """What a game's own tone mapping would leave: [0, 1], linear."""
    return color / (1 + color)


def supersampled(scenes, view, output, side=4):
    """Mean of display-referred samples: an LDR reference cannot be made of an HDR mean."""
    fine, (w, h) = np.array([view]), output
    fine["jitter"], fine["noise"], fine["footprint"] = 0.0, 0.0, 1.0
    color = generator().render(scenes, fine, native.Geometry(w * side, h * side, 1, 1), False)[0][0]
    return display_referred(color).view(3, h, side, w, side).mean((2, 4))


def write_plane(path, planes, dtype, alpha=False):
    """planes [c,h,w]"""
    data = planes.numpy() if isinstance(planes, torch.Tensor) else planes
    if alpha:
        data = np.concatenate([data, np.ones_like(data[:1])])
    np.ascontiguousarray(data.transpose(1, 2, 0)).astype(dtype).tofile(path)


def write_clip(folder, **options):
    """Writes the sequence unless the folder holds the same one; returns the folder. Still clips have one reference, with frame 0."""
    spec = {**DEFAULTS, **options}
    path, kept = os.path.join(folder, "frames.json"), json.loads(json.dumps(spec))
    if os.path.exists(path):
        with open(path) as f:
            if json.load(f).get("_clip") == kept:
                return folder
        shutil.rmtree(folder)
    os.makedirs(folder, exist_ok=True)
    geometry, scenes, frames = native.Geometry(*spec["render"], *spec["output"]), scenes_of(spec), []
    gamma = (lambda x: x) if spec["hdr"] else (lambda x: x.clamp(0, 1) ** (1 / 2.2))
    for k, view in enumerate(views_of(spec)):
        wanted = k >= spec["reference_from"] and not (spec["moving"] == "still" and k > 0)
        color, depth, motion, reference = generator().render(scenes, np.array([view]), geometry, wanted and spec["hdr"])
        color, name = color[0], lambda kind: "%s-%04d.bin" % (kind, k)
        if not spec["hdr"]:
            color, reference = display_referred(color), [supersampled(scenes, view, spec["output"])] if wanted else None
        write_plane(os.path.join(folder, name("color")), gamma(color), "<f2", alpha=True)
        write_plane(os.path.join(folder, name("depth")), depth, "<f4")
        write_plane(os.path.join(folder, name("motion")), motion[0], "<f2")
        if wanted:
            write_plane(os.path.join(folder, name("reference")), gamma(reference[0]), "<f2", alpha=True)
        frames.append({} if spec["exposure"] is None else {"exposure": spec["exposure"]})
        frames[-1].update({"color": name("color"), "depth": name("depth"), "motion": name("motion"), "render": list(spec["render"]),
                       "jitter": [float(j) for j in view["jitter"]], "reference": name("reference") if wanted else None,
                       "reset": k == spec["cut"] and spec["cut_reset"]})
    info = {"version": 1, "name": os.path.basename(folder), "output": list(spec["output"]), "hdr": spec["hdr"], "licence": "CC0-1.0",
            "_clip": kept, "frames": frames}
    with open(path + ".tmp", "w") as f:
        json.dump(info, f)
    os.rename(path + ".tmp", path)
    return folder


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", required=True)
    p.add_argument("--class", dest="classes", action="append", choices=native.CLASSES, help="repeatable; default: all")
    p.add_argument("--clips", type=int, default=1)
    p.add_argument("--frames", type=int, default=16)
    p.add_argument("--render", type=int, nargs=2, default=(96, 96))
    p.add_argument("--output", type=int, nargs=2, default=(192, 192))
    p.add_argument("--moving", choices=MOVING, default="camera")
    p.add_argument("--ldr", action="store_true")
    a = p.parse_args()
    for name in a.classes or native.CLASSES:
        for k in range(a.clips):
            print(write_clip(os.path.join(a.out, "%s-%d" % (name, k)), **{"class": name}, seed=k, frames=a.frames, render=tuple(a.render),
                             output=tuple(a.output), moving=a.moving, hdr=not a.ldr))
    return 0


if __name__ == "__main__":
    sys.exit(main())
