"""Deployment parity: PyTorch's deployed pipeline against frames that d4r-m or d4r-k wrote, frame by frame, each with its own history.

    parity.py CHECKPOINT SEQUENCE FRAMES   (FRAMES: the runner's output folder, run with --exact-filter)
"""
import argparse
import os
import sys

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "train")]
from metrics_np import display, psnr  # noqa: E402
from sequences import Sequence  # noqa: E402
from validate import load_preset  # noqa: E402

LEAST_BETWEEN, MOST_APART = 45.0, 0.1  # dB


def compare(checkpoint, sequence, frames, count=10 ** 9, log=None):
    """-> least PSNR between the two, largest difference of their PSNR against the reference"""
    s, (least, most) = sequence, (1e9, 0.0)
    preset, parameters = load_preset(checkpoint, "cpu")
    upscaler = preset.Upscaler(parameters, preset.deployed(*s.render, *s.output))
    image = lambda x: torch.from_numpy(np.ascontiguousarray(x)).permute(2, 0, 1)[None].contiguous()
    for i in range(min(count, len(s))):
        ours = upscaler(image(s.color(i)), torch.from_numpy(s.depth(i))[None].contiguous(), image(s.motion(i)), s.jitter(i))
        ours, theirs = display(ours[0].permute(1, 2, 0).numpy()), display(s.picture(frames, i))
        between, difference, r = psnr(ours, theirs), float("nan"), s.reference(i)
        if r is not None:
            difference = psnr(ours, display(r)) - psnr(theirs, display(r))
            most = max(most, abs(difference))
        least = min(least, between)
        if log:
            log("frame %d: %.2f dB between, %+.4f dB against the reference" % (i, between, difference))
    return least, most


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("checkpoint")
    p.add_argument("sequence")
    p.add_argument("frames")
    p.add_argument("--count", type=int, default=10 ** 9)
    a = p.parse_args()
    least, most = compare(a.checkpoint, Sequence(a.sequence), a.frames, a.count, lambda line: print(line, flush=True))
    print("least %.2f dB between, at most %.4f dB apart" % (least, most))
    return 0 if least >= LEAST_BETWEEN and most < MOST_APART else 1


if __name__ == "__main__":
    sys.exit(main())
