"""Contact sheet of generated scenes: references on top of the aliased low resolution frames. PNG by zlib alone."""
import argparse
import struct
import zlib

import numpy as np
import torch

import native
from pipeline import auto_exposure


def write_png(path, image):
    """image [h,w,3] uint8"""
    h, w, _ = image.shape
    raw = np.concatenate([np.zeros((h, 1), np.uint8), image.reshape(h, 3 * w)], 1).tobytes()
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 2, 0, 0, 0)) +
                chunk(b"IDAT", zlib.compress(raw, 6)) + chunk(b"IEND", b""))


def shown(x):
    return ((x / (1 + x)).clamp(0, 1) ** (1 / 2.2) * 255).byte().permute(1, 2, 0).numpy()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--columns", type=int, default=8)
    parser.add_argument("--size", type=int, default=96)
    a = parser.parse_args()
    generator, g = native.Generator("cpu"), native.Geometry(a.size, a.size, 2 * a.size, 2 * a.size)
    n = len(native.CLASSES) * a.columns
    host = np.zeros((n, generator.scene_bytes), np.uint8)
    views = np.zeros(n, native.VIEW)
    for i in range(n):
        generator.build(a.seed * 1000 + i, i // a.columns, native.CAMERA, g.w, g.h, host[i])
        views[i]["scene"], views[i]["time"], views[i]["previous"] = i, 3.0, 2.0
    color, depth, motion, reference = generator.render(torch.from_numpy(host), views, g)
    e = auto_exposure(color).view(-1, 1, 1, 1) * 1.5
    rows = [np.concatenate([shown((reference * e)[r * a.columns + c]) for c in range(a.columns)], 1) for r in range(len(native.CLASSES))]
    write_png(a.out, np.concatenate(rows, 0))
    print("finite:", bool(torch.isfinite(reference).all() and torch.isfinite(color).all() and torch.isfinite(motion).all()),
          "brightest %.1f" % reference.max().item(), "median motion %.2f" % motion.abs().amax(1).flatten(1).median().item())


if __name__ == "__main__":
    main()
