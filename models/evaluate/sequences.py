"""Frame sequences: frames.json and raw planes (docs and conventions: color RGBA f16, motion RG f16, depth R f32)."""
import json
import os

import numpy as np


class Sequence:
    def __init__(self, folder):
        with open(os.path.join(folder, "frames.json")) as f:
            self.info = json.load(f)
        self.folder, self.frames = folder, self.info["frames"]
        self.output = tuple(self.info["output"])
        self.render = tuple(self.frames[0]["render"])

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

    def reference(self, i):
        name = self.frames[i].get("reference")
        return None if name is None else self.plane(name, "<f2", *self.output, 4)[..., :3]
