"""Runs d4r-m over sequences and compares with references and baselines: tables, JSON, and the worst crops.

    evaluate.py --runner BUILD/bin/d4r-m --model models/m [--neutral DIR] --out DIR SEQUENCE...
"""
import argparse
import json
import os
import subprocess
import sys

import numpy as np

import baselines
from metrics_np import Scores, display
from sequences import Sequence

CROP = 64


def write_png(path, image):
    import struct
    import zlib
    h, w, _ = image.shape
    raw = np.concatenate([np.zeros((h, 1), np.uint8), image.reshape(h, 3 * w)], 1).tobytes()
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 2, 0, 0, 0)) +
                chunk(b"IDAT", zlib.compress(raw, 6)) + chunk(b"IEND", b""))


def runner_frames(args, model, sequence, folder, extra):
    """Runs d4r-m; yields its linear frames."""
    command = [args.runner, "--quiet", "--network", args.network, *extra, model, sequence.folder, folder]
    if not os.path.exists(os.path.join(folder, "outputs.json")):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    w, h = sequence.output
    for i in range(len(sequence.frames)):
        data = np.fromfile(os.path.join(folder, "frame-%04d.bin" % i), "<f2").reshape(h, w, 4)
        yield data[..., :3].astype(np.float32)


def baseline_frames(name, sequence):
    taau = baselines.Taau(sequence.output)
    for i in range(len(sequence.frames)):
        if name == "taau":
            yield taau(sequence.color(i), sequence.depth(i), sequence.motion(i), sequence.jitter(i))
        else:
            yield np.maximum(baselines.resize(sequence.color(i), sequence.output, sequence.jitter(i), name == "bicubic"), 0)


def first_counted(name, sequence):
    """Frames 4 to the end; the last ten of long sequences whose references start late."""
    with_reference = [i for i, f in enumerate(sequence.frames) if f.get("reference")]
    return max(4, with_reference[0] if with_reference else 0)


def worst_crops(out, name, sequence, ours, reference, others, count=4):
    """Side by side: reference, ours, the baselines, at the places of the largest error of the last frame."""
    e = np.square(display(ours) - display(reference)).mean(2)
    h, w = e.shape
    blocks = e[:h // CROP * CROP, :w // CROP * CROP].reshape(h // CROP, CROP, w // CROP, CROP).mean((1, 3))
    rows = []
    for k in np.argsort(blocks.ravel())[::-1][:count]:
        y, x = k // blocks.shape[1] * CROP, k % blocks.shape[1] * CROP
        cut = lambda image: display(image[y:y + CROP, x:x + CROP]).repeat(3, 0).repeat(3, 1)
        rows.append(np.concatenate([cut(i) for i in [reference, ours] + others], 1))
    write_png(os.path.join(out, name + "-worst.png"), (np.concatenate(rows, 0) * 255 + 0.5).astype(np.uint8))


def evaluate(args, folder):
    sequence = Sequence(folder)
    name = os.path.basename(os.path.normpath(folder))
    start, result, last = first_counted(name, sequence), {}, {}
    sources = {"model": runner_frames(args, args.model, sequence, os.path.join(args.out, name), args.option)}
    if args.neutral:
        sources["neutral"] = runner_frames(args, args.neutral, sequence, os.path.join(args.out, name + "-neutral"), args.option)
    for b in ("bilinear", "bicubic", "taau"):
        sources[b] = baseline_frames(b, sequence)
    for source, frames in sources.items():
        scores = Scores()
        for i, image in enumerate(frames):
            scores.add(i, image, sequence.reference(i), i >= start)
            last[source] = image
        result[source] = {"mean": scores.mean(), "frames": scores.rows}
        m = result[source]["mean"]
        print("%-14s %-9s PSNR %6.2f  SSIM %.4f  tPSNR %6.2f  FLIP %.4f" % (name, source, m["psnr"], m["ssim"], m["tpsnr"], m["flip"]), flush=True)
    others = [last[b] for b in ("bilinear", "taau")]
    reference = sequence.reference(len(sequence.frames) - 1)
    if reference is not None:
        worst_crops(args.out, name, sequence, last["model"], reference, others)
    return name, result


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("sequences", nargs="+")
    p.add_argument("--runner", required=True)
    p.add_argument("--model", required=True)
    p.add_argument("--neutral", help="a neutral model to compare with")
    p.add_argument("--network", default="cpu")
    p.add_argument("--option", action="append", default=[], help="passed on to d4r-m (repeatable)")
    p.add_argument("--out", required=True)
    args = p.parse_args()
    os.makedirs(args.out, exist_ok=True)
    results = dict(evaluate(args, s) for s in args.sequences)
    with open(os.path.join(args.out, "results.json"), "w") as f:
        json.dump(results, f, indent=1)
    with open(os.path.join(args.out, "table.md"), "w") as f:
        f.write("| sequence | source | PSNR | SSIM | tPSNR | FLIP |\n|---|---|---|---|---|---|\n")
        for name, result in results.items():
            for source, r in result.items():
                m = r["mean"]
                f.write("| %s | %s | %.2f | %.4f | %.2f | %.4f |\n" % (name, source, m["psnr"], m["ssim"], m["tpsnr"], m["flip"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
