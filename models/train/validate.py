"""Metrics of a checkpoint through pipeline.Upscaler: on real sequences, and on held-out procedural clips of every class."""
import argparse
import json
import os
import sys

import numpy as np
import torch

import metrics
import native
from presets import PRESETS
from show_scenes import write_png

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "evaluate"))
from sequences import Sequence  # noqa: E402


def load_average(path, device):
    return load_preset(path, device)[1]


def load_preset(path, device):
    """-> preset, averaged parameters"""
    data = torch.load(path, map_location="cpu")
    preset = PRESETS[data["args"].get("preset", "m")]
    return preset, preset.Parameters(*[t.float().to(device) for t in data["average"]])


def bilinear(color, jitter, geometry):
    """Jitter-aware bilinear of linear colour."""
    g, dev = geometry, color.device
    x = ((torch.arange(g.ow, device=dev) + 0.5) * g.w / g.ow - jitter[0]) * 2 / g.w - 1
    y = ((torch.arange(g.oh, device=dev) + 0.5) * g.h / g.oh - jitter[1]) * 2 / g.h - 1
    grid = torch.stack([x[None, :].expand(g.oh, -1), y[:, None].expand(-1, g.ow)], -1)[None].expand(color.shape[0], -1, -1, -1)
    return torch.nn.functional.grid_sample(color, grid.float(), mode="bilinear", padding_mode="border", align_corners=False)


def run_sequence(preset, parameters, folder, device):
    s = Sequence(folder)
    geometry = preset.deployed(*s.render, *s.output)
    upscaler, outputs, references = preset.Upscaler(parameters, geometry, device), [], []
    image = lambda a: torch.from_numpy(np.ascontiguousarray(a)).to(device).permute(2, 0, 1)[None].contiguous()
    for i in range(len(s.frames)):
        depth = torch.from_numpy(s.depth(i)).to(device)[None].contiguous()
        outputs.append(upscaler(image(s.color(i)), depth, image(s.motion(i)), s.jitter(i)))
        r = s.reference(i)
        references.append(None if r is None else image(r))
    return outputs, references


def real(preset, parameters, root, device, images):
    rows = {}
    for name in sorted(os.listdir(root)):
        if not os.path.exists(os.path.join(root, name, "frames.json")):
            continue
        outputs, references = run_sequence(preset, parameters, os.path.join(root, name), device)
        start = 30 if name.endswith("_40") else 4
        rows[name] = metrics.summary(outputs, references, start)[:, 0].tolist()
        per_frame = [float(metrics.psnr(metrics.display(o), metrics.display(r))) for o, r in zip(outputs, references) if r is not None]
        print("%-14s PSNR %.2f SSIM %.4f tPSNR %.2f | %s" % (name, *rows[name], " ".join("%.1f" % v for v in per_frame)), flush=True)
        if images:
            both = torch.cat([metrics.display(outputs[-1]), metrics.display(references[-1])], 3)[0]
            write_png(os.path.join(images, name + ".png"), (both * 255 + 0.5).byte().permute(1, 2, 0).cpu().numpy())
    return rows


def procedural(preset, parameters, device, count, frames, size, ratio, moving):
    generator, out = native.Generator(device), int(size * ratio)
    geometry, rows = preset.deployed(size, size, out, out), {}
    for kind, name in enumerate(native.CLASSES):
        host, views = np.zeros((count, generator.scene_bytes), np.uint8), np.zeros((frames, count), native.VIEW)
        for i in range(count):
            generator.build(0x5eed0000 + 1000 * kind + i, kind, moving, size, size, host[i])
            views[:, i]["scene"] = i
        from clips import _halton
        times = np.arange(frames, dtype=np.float32)
        views["time"], views["previous"] = times[:, None], times[:, None] - (0 if moving == native.STILL else 1)
        views["jitter"] = _halton[np.arange(frames) % 16][:, None]
        views["footprint"] = np.where(np.arange(count) % 2 == 0, 0.0, 1 / ratio)
        color, depth, motion, reference = generator.render(torch.from_numpy(host).to(device), views.reshape(-1), geometry)
        split = lambda t: t.view(frames, count, *t.shape[1:])
        color, depth, motion, reference = split(color), split(depth), split(motion), split(reference)
        upscaler = preset.Upscaler(parameters, geometry, device)
        ours, plain = [], []
        for k in range(frames):
            jitter = tuple(float(v) for v in views[k, 0]["jitter"])
            ours.append(upscaler(color[k], depth[k], motion[k], jitter))
            plain.append(bilinear(color[k], jitter, geometry))
        a, b = metrics.summary(ours, list(reference), 4), metrics.summary(plain, list(reference), 4)
        rows[name] = a.mean(1).tolist() + b.mean(1).tolist()
        first, last = (metrics.psnr(metrics.display(ours[k]), metrics.display(reference[k])).mean() for k in (4, frames - 1))
        print("%-10s PSNR %.2f SSIM %.4f tPSNR %.2f | bilinear %.2f %.4f %.2f | frame 4 %.2f last %.2f" % (name, *rows[name], first, last), flush=True)
    mean = np.array(list(rows.values())).mean(0)
    print("%-10s PSNR %.2f SSIM %.4f tPSNR %.2f | bilinear %.2f %.4f %.2f" % ("mean", *mean), flush=True)
    rows["mean"] = mean.tolist()
    return rows


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("checkpoint")
    p.add_argument("--sequences", help="folder of sequence folders")
    p.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    p.add_argument("--classes", type=int, default=0, help="clips a class; 0: none")
    p.add_argument("--frames", type=int, default=16)
    p.add_argument("--size", type=int, default=96)
    p.add_argument("--ratio", type=float, default=2.0)
    p.add_argument("--still", action="store_true")
    p.add_argument("--images", help="folder for side by side images of the last frames")
    p.add_argument("--json")
    a = p.parse_args()
    (preset, parameters), result = load_preset(a.checkpoint, a.device), {}
    if a.sequences:
        result["real"] = real(preset, parameters, a.sequences, a.device, a.images)
    if a.classes:
        result["procedural"] = procedural(preset, parameters, a.device, a.classes, a.frames, a.size, a.ratio, native.STILL if a.still else native.CAMERA)
    if a.json:
        with open(a.json, "w") as f:
            json.dump(result, f, indent=1)


if __name__ == "__main__":
    main()
