"""Frame sequences: frames.json with raw planes (color RGBA f16, motion RG f16, depth R f32), and what a runner makes of them."""
import json
import os
import shutil
import subprocess

import numpy as np


class Sequence:
    def __init__(self, folder):
        with open(os.path.join(folder, "frames.json")) as f:
            self.info = json.load(f)
        self.folder, self.frames = folder, self.info["frames"]
        self.name = os.path.basename(os.path.normpath(folder))
        self.output = tuple(self.info["output"])
        self.render = tuple(self.frames[0]["render"])
        self.hdr = self.info.get("hdr", True)

    def __len__(self):
        return len(self.frames)

    def plane(self, name, dtype, width, height, channels):
        data = np.fromfile(os.path.join(self.folder, name), dtype)
        return data.reshape(height, width, channels).astype(np.float32)

    def color(self, i):
        w, h = self.frames[i]["render"]
        return self.plane(self.frames[i]["color"], "<f2", w, h, 4)[..., :3]

    def depth(self, i):
        w, h = self.frames[i]["render"]
        return self.plane(self.frames[i]["depth"], "<f4", w, h, 1)[..., 0]

    def motion(self, i):
        w, h = self.frames[i]["render"]
        return self.plane(self.frames[i]["motion"], "<f2", w, h, 2)

    def jitter(self, i):
        return tuple(self.frames[i]["jitter"])

    def reset(self, i):
        return i == 0 or self.frames[i].get("reset", False)

    def reference(self, i):
        name = self.frames[i].get("reference")
        return None if name is None else self.plane(name, "<f2", *self.output, 4)[..., :3]

    def references(self):
        """Indices of the frames that have one."""
        return [i for i, f in enumerate(self.frames) if f.get("reference")]

    def still(self):
        """Nothing moves, but for what a renderer's rounding leaves in vectors: the reference of one frame is that of all."""
        return all(np.abs(self.motion(i)).max() < 1e-3 for i in range(len(self)))

    def picture(self, folder, i):
        """Frame i of what a runner wrote."""
        w, h = self.output
        return np.fromfile(os.path.join(folder, "frame-%04d.bin" % i), "<f2").reshape(h, w, 4)[..., :3].astype(np.float32)


class Runner:
    """d4r-m, or a program with the same arguments. Always runs: pictures of other weights are never taken for these."""

    def __init__(self, program, network="cpu", options=()):
        self.program, self.network, self.options = program, network, list(options)

    def run(self, model, sequence, folder, *more, environment=None):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(os.path.dirname(os.path.abspath(folder)), exist_ok=True)
        command = [self.program, "--quiet", "--network", self.network, *self.options, *more, model, sequence.folder, folder]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              env={**os.environ, **(environment or {})})
        if done.returncode:
            raise SystemExit("%s: exit code %d\n%s" % (" ".join(command), done.returncode, done.stderr.strip()))
        return folder

    def pictures(self, model, sequence, folder, *more):
        self.run(model, sequence, folder, *more)
        return [sequence.picture(folder, i) for i in range(len(sequence))]


def weights_of(model):
    """Name and hash of a model, for reports."""
    with open(os.path.join(model, "model.json")) as f:
        info = json.load(f)
    return {"name": info["name"], "weights.safetensors": info["files"]["weights.safetensors"]["sha256"]}
