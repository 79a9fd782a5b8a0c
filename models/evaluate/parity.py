"""Deployment parity: PyTorch's deployed pipeline against frames that d4r-m wrote, frame by frame, each with its own history.

    parity.py CHECKPOINT SEQUENCE FRAMES   (FRAMES: d4r-m's output folder, run with --exact-filter)
"""
import argparse
import os
import sys

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "train")]
import native  # noqa: E402
import pipeline  # noqa: E402
from metrics_np import display, psnr  # noqa: E402
from sequences import Sequence  # noqa: E402
from validate import load_average  # noqa: E402


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("checkpoint")
    p.add_argument("sequence")
    p.add_argument("frames")
    p.add_argument("--count", type=int, default=10 ** 9)
    a = p.parse_args()
    s, (least, most) = Sequence(a.sequence), (1e9, 0.0)
    upscaler = pipeline.Upscaler(load_average(a.checkpoint, "cpu"), native.Geometry(*s.render, *s.output))
    image = lambda x: torch.from_numpy(np.ascontiguousarray(x)).permute(2, 0, 1)[None].contiguous()
    w, h = s.output
    for i in range(min(a.count, len(s.frames))):
        ours = upscaler(image(s.color(i)), torch.from_numpy(s.depth(i))[None].contiguous(), image(s.motion(i)), s.jitter(i))
        ours = display(ours[0].permute(1, 2, 0).numpy())
        theirs = display(np.fromfile(os.path.join(a.frames, "frame-%04d.bin" % i), "<f2").reshape(h, w, 4)[..., :3].astype(np.float32))
        between, difference = psnr(ours, theirs), float("nan")
        r = s.reference(i)
        if r is not None:
            difference = psnr(ours, display(r)) - psnr(theirs, display(r))
            most = max(most, abs(difference))
        least = min(least, between)
        print("frame %d: %.2f dB between, %+.4f dB against the reference" % (i, between, difference), flush=True)
    print("least %.2f dB between, at most %.4f dB apart" % (least, most))
    return 0 if least >= 45.0 and most < 0.1 else 1


if __name__ == "__main__":
    sys.exit(main())
