"""Runs d4r-m over rendered sequences and compares what it writes with the references, with plain upscalers and with the
figures of FSR 2: tables, JSON, curves, contact sheets, the worst crops, and whether the goals are met.

    evaluate.py --runner BUILD/bin/d4r-m --model models/m [--neutral DIR] --out DIR SEQUENCE...

Exit code 1 when --goals is given and one is not met. README.md says what the figures mean.
"""
import argparse
import os
import sys

import numpy as np

import baselines
import report
from metrics_np import NAMES, Scores, display, psnr
from sequences import Runner, Sequence, weights_of

# AMD FSR 2.2.1, its own shaders on lavapipe, no sharpening, no masks: PSNR, SSIM by the definitions used here.
FSR2 = {"static": (23.47, 0.8168), "brick_pan": (22.77, 0.6960), "brick_pan_3x": (21.05, 0.5491), "water": (28.75, 0.8607),
        "static_40": (26.23, 0.9074), "brick_pan_40": (24.57, 0.7840)}
PSNR_GOALS = {"static": 30.0, "brick_pan": 26.0, "brick_pan_3x": 24.3, "water": 30.8, "static_40": 33.0, "brick_pan_40": 27.5}
SSIM_LEAD, STILL_TPSNR, CYCLE = 0.05, 41.0, 16
CROP, CROPS = 64, 4


def first_counted(sequence):
    """Frames 4 to the end, or as many of them as have references; of shorter sequences the last."""
    found = sequence.references()
    if not found:
        raise SystemExit("%s: no frame has a reference: nothing to compare with" % sequence.folder)
    return min(max(4, found[0]), found[-1])


class Result:
    """One sequence: figures of every source, and its counted pictures for the sheets."""

    def __init__(self, sequence, with_flip=True, start=None):
        self.sequence, self.start, self.with_flip = sequence, first_counted(sequence) if start is None else start, with_flip
        self.scores, self.pictures, self.still_curve = {}, {}, None

    def add(self, source, frames, keep=True):
        """frames: an image or None for every frame; None where none is needed."""
        s = self.sequence
        scores, kept = Scores(s.hdr, self.with_flip), {}
        for i, image in enumerate(frames):
            if image is None:
                continue
            scores.add(i, image, s.reference(i), i >= self.start)
            if keep and i >= self.start and s.frames[i].get("reference"):
                kept[i] = image.astype(np.float16)
        self.scores[source], self.pictures[source] = scores, kept

    def data(self):
        d = {source: {"mean": s.mean(), "frames": [dict(zip(("frame",) + NAMES, row)) for row in s.rows], "psnr": s.curve}
             for source, s in self.scores.items()}
        if self.still_curve:
            d["model"]["psnr_against_the_still_reference"] = self.still_curve
        return d

    def mean(self, source):
        return self.scores[source].mean()

    def plain(self):
        """Names of the sources that a model has to beat."""
        return [s for s in self.scores if s not in ("model", "neutral")]


def baseline_frames(name, sequence, start):
    """Bilinear and bicubic look at one frame only: those before start - 1 are not needed."""
    taau = baselines.Taau(sequence.output, hdr=sequence.hdr)
    for i in range(len(sequence)):
        if name == "taau":
            if sequence.reset(i):
                taau.history = None
            yield taau(sequence.color(i), sequence.depth(i), sequence.motion(i), sequence.jitter(i))
        elif i < start - 1:
            yield None
        else:
            yield baselines.spatial(sequence.color(i), sequence.output, sequence.jitter(i), name == "bicubic", sequence.hdr)


def evaluate(runner, models, sequence, out, with_flip=True, start=None, names=("bicubic", "bilinear", "taau")):
    """models: {"model": folder, "neutral": folder}"""
    result = Result(sequence, with_flip, start)
    for source, model in models.items():
        pictures = runner.pictures(model, sequence, os.path.join(out, sequence.name + "-" + source))
        result.add(source, pictures)
        if source == "model" and sequence.references() and sequence.still():
            r = display(sequence.reference(sequence.references()[0]), sequence.hdr)
            result.still_curve = [(i, psnr(display(p, sequence.hdr), r)) for i, p in enumerate(pictures)]
    for name in names:
        result.add(name, baseline_frames(name, sequence, result.start))
    return result


def block_errors(image, reference):
    e = np.square(image - reference).mean(2)
    h, w = e.shape[0] // CROP * CROP, e.shape[1] // CROP * CROP
    return e[:h, :w].reshape(h // CROP, CROP, w // CROP, CROP).mean((1, 3))


def worst_blocks(result):
    """Where the model is furthest from the reference: [(frame, row, column)], each place once."""
    found, s = [], result.sequence
    for i, image in result.pictures["model"].items():
        e = block_errors(display(image.astype(np.float32), s.hdr), display(s.reference(i), s.hdr))
        found += [(e[y, x], i, y, x) for y in range(e.shape[0]) for x in range(e.shape[1])]
    places, kept = set(), []
    for _, i, y, x in sorted(found, reverse=True):
        if (y, x) not in places and len(kept) < CROPS:
            places.add((y, x))
            kept.append((i, y, x))
    return kept


def gallery(result, out):
    """The worst crops: reference, model, the best baseline of each. Returns index lines."""
    s, rows, lines = result.sequence, [], []
    for i, y, x in worst_blocks(result):
        cut = lambda image: display(image[y * CROP:(y + 1) * CROP, x * CROP:(x + 1) * CROP].astype(np.float32), s.hdr)
        reference = cut(s.reference(i))
        values = {name: psnr(cut(pictures[i]), reference) for name, pictures in result.pictures.items() if i in pictures}
        best = max((n for n in values if n != "model"), key=values.get)
        rows.append([report.enlarged(c, 3) for c in (reference, cut(result.pictures["model"][i]), cut(result.pictures[best][i]))])
        lines.append((i, "(%d, %d)" % (x * CROP, y * CROP), "%.2f" % values["model"], best, "%.2f" % values[best]))
    report.write_png(os.path.join(out, s.name + "-worst.png"), report.grid(rows))
    text = "\n## %s: the worst crops of %d pixels\n\n![](%s-worst.png)\n\nEach row: reference, model, the best other.\n\n" % (s.name, CROP, s.name)
    return text + report.table(("frame", "place", "model, dB", "best other", "its dB"), lines)


def sheet(result, out):
    """The last counted frame of every source, whole at half size, and three crops where bilinear is worst."""
    s, i = result.sequence, max(result.pictures["model"])
    sources = {"reference": s.reference(i), **{n: p[i].astype(np.float32) for n, p in result.pictures.items()}}
    shown = {n: display(image, s.hdr) for n, image in sources.items()}
    e = block_errors(shown["bilinear"], shown["reference"])
    rows = [[report.halved(image) for image in shown.values()]]
    height, width = rows[0][0].shape[:2]
    for k in np.argsort(e.ravel())[::-1][:3]:
        y, x = k // e.shape[1] * CROP, k % e.shape[1] * CROP
        crops = [report.enlarged(image[y:y + CROP, x:x + CROP], max(width // CROP, 1)) for image in shown.values()]
        rows.append([np.pad(c, ((0, 0), (0, width - c.shape[1]), (0, 0)), constant_values=1.0) if c.shape[1] < width else c[:, :width] for c in crops])
    report.write_png(os.path.join(out, s.name + "-sheet.png"), report.grid(rows))
    return "\n## %s, frame %d\n\n![](%s-sheet.png)\n\nColumns: %s.\n" % (s.name, i, s.name, ", ".join(
        "%s %.2f dB" % (n, psnr(shown[n], shown["reference"])) if n != "reference" else n for n in shown))


def goals_of(result, goals):
    name, model = result.sequence.name, result.mean("model")
    if name in PSNR_GOALS:
        goals.add("%s: PSNR" % name, model["psnr"], PSNR_GOALS[name])
        goals.add("%s: SSIM, %.2f above FSR 2" % (name, SSIM_LEAD), model["ssim"], FSR2[name][1] + SSIM_LEAD, form="%.4f")
    for other in result.plain():
        goals.add("%s: tPSNR above %s" % (name, other), model["tpsnr"], result.mean(other)["tpsnr"])
    best = max(result.plain(), key=lambda n: result.mean(n)["psnr"])
    goals.add("%s: PSNR above the best baseline (%s)" % (name, best), model["psnr"], result.mean(best)["psnr"])
    if result.still_curve and len(result.still_curve) >= 2 * CYCLE + 8:
        values = [v for _, v in result.still_curve]
        goals.add("%s: tPSNR of still content" % name, model["tpsnr"], STILL_TPSNR)
        goals.add("%s: PSNR of the last %d frames above the %d before" % (name, CYCLE, CYCLE), np.mean(values[-CYCLE:]),
                  np.mean(values[-2 * CYCLE:-CYCLE]), form="%.3f")


def markdown(results):
    sources = list(results[0].scores)
    rows = []
    for r in results:
        fsr = "%.2f / %.4f" % FSR2[r.sequence.name] if r.sequence.name in FSR2 else ""
        rows.append([r.sequence.name] + [report.figures(r.mean(s)) for s in sources] + [fsr])
    return report.table(["sequence (PSNR / SSIM / tPSNR / FLIP)"] + sources + ["FSR 2 (published)"], rows)


def write(results, goals, out, model):
    index = ""
    for r in results:
        index += sheet(r, out) + gallery(r, out)
        curves = {s: r.still_curve if s == "model" and r.still_curve else r.scores[s].curve for s in r.scores}
        report.write_plot(os.path.join(out, r.sequence.name + "-psnr.svg"), r.sequence.name, curves)
        index += "\n![](%s-psnr.svg)\n" % r.sequence.name
    with open(os.path.join(out, "index.md"), "w") as f:
        f.write("# Pictures\n" + index)
    text = "Weights: %s, %s\n\n" % (model["name"], model["weights.safetensors"]) + markdown(results)
    with open(os.path.join(out, "table.md"), "w") as f:
        f.write(text + "\n" + goals.markdown())
    report.write_json(os.path.join(out, "results.json"), {"model": model, "sequences": {r.sequence.name: r.data() for r in results}, "goals": goals.rows})


def run(runner, models, folders, out, with_flip=True):
    os.makedirs(out, exist_ok=True)
    results, goals = [], report.Goals()
    for folder in folders:
        results.append(evaluate(runner, models, Sequence(folder), out, with_flip))
        goals_of(results[-1], goals)
        for source in results[-1].scores:
            print("%-14s %-9s %s" % (results[-1].sequence.name, source, report.figures(results[-1].mean(source))), flush=True)
    write(results, goals, out, weights_of(models["model"]))
    return results, goals


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("sequences", nargs="+")
    p.add_argument("--runner", required=True)
    p.add_argument("--model", required=True)
    p.add_argument("--neutral", help="a neutral model to compare with")
    p.add_argument("--network", default="cpu")
    p.add_argument("--option", action="append", default=[], help="passed on to the runner (repeatable)")
    p.add_argument("--no-flip", action="store_true")
    p.add_argument("--goals", action="store_true", help="exit code 1 when a goal is not met")
    p.add_argument("--out", required=True)
    a = p.parse_args()
    models = {"model": a.model, **({"neutral": a.neutral} if a.neutral else {})}
    _, goals = run(Runner(a.runner, a.network, a.option), models, a.sequences, a.out, not a.no_flip)
    if a.goals:
        print(goals.markdown(), end="")
    return 1 if a.goals and goals.failed() else 0


if __name__ == "__main__":
    sys.exit(main())
