"""Held-out procedural sequences through d4r-m: every class, ratio and kind of trouble that a model is trained for.

    checks.py --runner BUILD/bin/d4r-m --model models/m --out DIR [--quick] [--only NAME]...

Writes DIR/checks.md, checks.json and pictures; exit code 1 when a goal is not met. README.md defines every figure.
"""
import argparse
import os
import sys
import time

import numpy as np

import procedural
import report
import scenarios
from evaluate import evaluate
from metrics_np import display, psnr
from sequences import Runner, Sequence, weights_of

CAP = 50.0           # dB: a clip's frame counts at most this, 0.8/255; beyond lie empty pictures and the output's own steps
LEAD = 0.2           # dB that a baseline may win by in a class
CYCLE = 16           # frames of a jitter cycle
RATIOS = {"1.3": (126, 126), "1.5": (144, 144), "1.7": (162, 162), "3": (288, 288), "2 x 1.5": (192, 144), "3 x 2": (288, 192)}
RATIO_CLASSES = ("general", "thin", "text", "foliage", "facade")
GHOST_AGES, GHOST_SHARE, GHOST_ERROR = 4, 0.05, 1.1
GHOST_SEEDS = (64, 61, 62, 65, 67, 71, 72)  # of the class "fast", those whose objects uncover much
NAMES = ("bicubic", "bilinear", "taau")


def capped(result, source):
    """Mean PSNR (capped), SSIM, tPSNR of one clip."""
    m = result.mean(source)
    values = [min(v, CAP) for i, v in result.scores[source].curve if i >= result.start]
    return np.array([np.mean(values), m["ssim"], min(m["tpsnr"], CAP)])


class Checks:
    def __init__(self, runner, model, neutral, out, quick):
        self.runner, self.model, self.out, self.quick = runner, model, out, quick
        self.models = {"model": model, **({"neutral": neutral} if neutral else {})}
        self.goals, self.data, self.text = report.Goals(), {}, []

    def clip(self, name, **options):
        if self.quick:
            options["frames"] = min(options.get("frames", 12), 8)
        folder = procedural.write_clip(os.path.join(self.out, "clips", name), **options)
        return Sequence(folder)

    def pictures(self, sequence, tag="model", *more):
        return self.runner.pictures(self.model, sequence, os.path.join(self.out, "pictures", sequence.name + "-" + tag), *more)

    # ---- classes, ratios, LDR: the model against the baselines ----

    def compare(self, label, sequences, lead):
        """Means over clips, of every source; a goal on the best baseline, which may be `lead` dB better. Returns the results."""
        results = [evaluate(self.runner, self.models, s, os.path.join(self.out, "pictures"), False, names=NAMES) for s in sequences]
        means = {source: np.mean([capped(r, source) for r in results], 0) for source in results[0].scores}
        best = max((n for n in means if n != "model"), key=lambda n: means[n][0])
        what = "%s: PSNR, %s at most %.1f dB better" % (label, best, lead) if lead else "%s: PSNR above %s" % (label, best)
        self.goals.add(what, means["model"][0], means[best][0] - lead)
        clips = [{source: r.mean(source) for source in r.scores} for r in results]
        self.data[label] = {"mean": {s: dict(zip(("psnr", "ssim", "tpsnr"), map(float, v))) for s, v in means.items()}, "clips": clips}
        row = [label] + ["%.2f / %.4f / %.2f" % tuple(v) for v in means.values()]
        print("  ".join(row), flush=True)
        return results, row

    def compare_all(self, title, groups, lead=0.0):
        """groups: label -> sequences"""
        rows, shown, head = [], [], None
        for label, sequences in groups:
            results, row = self.compare(label, sequences, lead)
            rows.append(row)
            head = list(results[0].scores)
            shown.append(self.picture_row(results[0]))
        path = title.split()[0].lower() + ".png"
        width = max(sum(p.shape[1] for p in r) for r in shown)
        lines = [np.pad(g, ((0, 0), (0, width + 4 * len(head) + 8 - g.shape[1]), (0, 0)), constant_values=1.0) for g in (report.grid([r]) for r in shown)]
        report.write_png(os.path.join(self.out, path), np.concatenate(lines, 0))
        self.text.append("## %s\n\nMean PSNR (at most %g dB a frame) / SSIM / tPSNR.\n\n" % (title, CAP) + report.table(["", *head], rows) +
                         "\n![](%s)\n\nRows as in the table, first clip, last frame; columns: reference, %s.\n" % (path, ", ".join(head)))

    def picture_row(self, result):
        s, i = result.sequence, max(result.pictures["model"])
        return [display(s.reference(i), s.hdr)] + [display(p[i].astype(np.float32), s.hdr) for p in result.pictures.values()]

    def classes(self):
        kinds, clips = procedural.native.CLASSES, 1 if self.quick else 3
        size = (64, 64) if self.quick else (96, 96)
        clip = lambda kind, k: self.clip("class-%s-%d" % (kind, k), **{"class": kind}, seed=k, render=size, output=(2 * size[0], 2 * size[1]),
                                         footprint=0.5 * (k % 2), frames=16)
        self.compare_all("Classes at 2x", [(kind, [clip(kind, k) for k in range(clips)]) for kind in kinds], LEAD)

    def ratios(self):
        kinds = RATIO_CLASSES[:2] if self.quick else RATIO_CLASSES
        clip = lambda kind, name, size, k: self.clip("ratio-%s-%s" % (name.replace(" ", ""), kind), **{"class": kind}, seed=20 + k, output=size,
                                                     footprint=(0.0, 96 / size[0])[k % 2], frames=12)
        self.compare_all("Ratios", [("ratio " + name, [clip(kind, name, size, k) for k, kind in enumerate(kinds)]) for name, size in RATIOS.items()])

    def ldr(self):
        kinds = RATIO_CLASSES[:2] if self.quick else RATIO_CLASSES
        self.compare_all("LDR at 2x", [("LDR", [self.clip("ldr-" + kind, **{"class": kind}, seed=40 + k, hdr=False, frames=12) for k, kind in enumerate(kinds)])])

    # ---- ghosts ----

    def ghosts(self):
        """Behind moving objects before a still camera: how much of what was there is still seen, by age."""
        ages = [[] for _ in range(GHOST_AGES)]
        for seed in GHOST_SEEDS[:1 if self.quick else None]:
            s = self.clip("fast-%d" % seed, **{"class": "fast"}, seed=seed, moving="objects", frames=16)
            ours, fresh = self.pictures(s), self.pictures(s, "reset", "--reset-all")
            for n, found in enumerate(trail(s, ours, fresh)):
                ages[n] += found
        rows = []
        for n, found in enumerate(ages):
            sums = np.array(found).sum(0)  # sums over pixels: e d, d d, e e, fresh fresh, pixels
            share, ours, plain = sums[0] / sums[1], *np.sqrt(sums[2:4] / sums[4])
            rows.append((n + 1, int(sums[4]), "%.4f" % share, "%.4f" % ours, "%.4f" % plain))
            self.goals.add("fast objects, uncovered %d frames ago: share of the old picture left" % (n + 1), abs(share), GHOST_SHARE, False, "%.4f")
            self.goals.add("fast objects, uncovered %d frames ago: error against a picture without history" % (n + 1), ours / plain, GHOST_ERROR, False, "%.3f")
        head = ("uncovered, frames ago", "pixels", "share of the old picture left", "RMS error", "without any history")
        self.text.append("## Ghosts behind fast objects\n\n" + report.table(head, rows))
        self.data["ghosts"] = [dict(zip(("age", "pixels", "share", "rms", "rms_reset"), map(float, r))) for r in rows]

    # ---- convergence ----

    def static(self):
        rows, curves, length = [], {}, 40 if self.quick else 300
        for k, kind in enumerate(("chart", "facade", "text", "general")[:1 if self.quick else 4]):
            folder = procedural.write_clip(os.path.join(self.out, "clips", "still-%s-%d" % (kind, length)), **{"class": kind}, seed=80 + k, render=(64, 64), output=(128, 128),
                                           moving="still", frames=length)
            s = Sequence(folder)
            r, ours = display(s.reference(0)), self.pictures(s)
            values = np.array([psnr(display(p), r) for p in ours])
            cycles = values[10:10 + (length - 10) // CYCLE * CYCLE].reshape(-1, CYCLE).mean(1)
            drop = float(np.max(np.maximum.accumulate(cycles) - cycles))
            moving = display(np.stack(ours[-CYCLE:]))
            flicker = -10 * np.log10(max(np.mean(np.square(np.diff(moving, axis=0))), 1e-12))
            rows.append((kind, "%.2f" % values[10], "%.2f" % cycles[0], "%.2f" % cycles[-1], "%.3f" % drop, "%.2f" % flicker))
            curves[kind] = list(enumerate(values.tolist()))
            self.goals.add("still %s, %d frames: largest fall of a cycle's mean below an earlier one" % (kind, length), drop, 0.05, False, "%.3f")
            self.goals.add("still %s: last cycle above frame 10" % kind, cycles[-1], values[10])
        report.write_plot(os.path.join(self.out, "still.svg"), "still clips", curves)
        head = ("class", "frame 10", "cycle from 10 on", "last cycle", "largest fall", "tPSNR of the last cycle")
        self.text.append("## Still clips of %d frames\n\nPSNR in dB; a cycle is %d frames.\n\n" % (length, CYCLE) + report.table(head, rows) + "\n![](still.svg)\n")
        self.data["still"] = {"rows": rows, "curves": curves}

    # ---- cuts ----

    def cuts(self):
        """A cut at frame 16 against the same frames of a clip that was never cut."""
        at, rows, left = 16, [], 0.0
        gaps = {"reset": [], "no reset": []}
        for k, kind in enumerate(("general", "facade", "water", "night")[:1 if self.quick else 4]):
            options = {"class": kind, "cut": at, "render": (96, 96), "output": (192, 192), "frames": at + 14, "reference_from": at - 1, "seed": 100 + k}
            write = lambda name, **more: Sequence(procedural.write_clip(os.path.join(self.out, "clips", "cut-%s-%s" % (kind, name)), **{**options, **more}))
            uncut = write("never", cut=None, seed=100 + k + procedural.CUT_SEED)
            curve = lambda s: np.array([min(psnr(display(p), display(s.reference(i))), CAP) for i, p in enumerate(self.pictures(s)) if i >= at])
            never, reset = curve(uncut), write("reset", cut_reset=True)
            for name, s in (("reset", reset), ("no reset", write("plain"))):
                gaps[name].append(never - curve(s))
            alone, folder = self.pictures(uncut, "reset", "--reset-all"), os.path.join(self.out, "pictures", reset.name + "-model")
            left = max(left, float(np.abs(reset.picture(folder, at) - alone[at]).max()))
        self.goals.add("cut with reset: the first picture differs from one without history by", left, 0.0, False, "%g")
        for name, frames, limit in (("reset", 4, 1.0), ("no reset", 12, 0.5)):
            gap = np.mean(gaps[name], 0)
            rows.append([name] + ["%.2f" % v for v in gap])
            self.goals.add("cut, %s: dB below a clip that was never cut, %d frames later" % (name, frames), gap[frames], limit, False)
            self.data["cut, " + name] = {"mean": gap.tolist(), "worst": np.max(gaps[name], 0).tolist()}
        residue = np.mean(gaps["no reset"], 0) - np.mean(gaps["reset"], 0)
        rows.append(["no reset below reset"] + ["%.2f" % v for v in residue])
        self.goals.add("cut, no reset: dB below the one with reset, 12 frames later", residue[12], 0.5, False)
        self.text.append("## Cuts\n\nPSNR in dB below that of a clip that was never cut, by frames since the cut.\n\n" +
                         report.table(["", *range(len(rows[0]) - 1)], rows))

    # ---- HDR ----

    def emitter(self):
        black, rows = float(display(np.float32(scenarios.BLACK))), []
        for moving in (False, True):
            s = Sequence(scenarios.write_emitter(os.path.join(self.out, "clips", "emitter-" + ("moving" if moving else "still")), moving))
            pictures = [display(p).max(2) - black for p in self.pictures(s)]
            halo, far = ([np.where(near_emitter(s, i, margin), 0, p).max() for i, p in enumerate(pictures)] for margin in (2, 4))
            if moving:
                rows += [("moving 2 render pixels a frame, beyond %d output pixels, frames 4 to the end" % n, "%.4f" % max(v[4:])) for n, v in ((2, halo), (4, far))]
                self.goals.add("moving emitter of 100: brightest beyond 4 pixels (display)", max(far[4:]), 2 / 255, False, "%.4f")
                continue
            off = scenarios.OFF_FRAME
            rows += [("still, beyond 2 output pixels, frames 4 to %d" % (off - 1), "%.4f" % max(halo[4:off]))]
            rows += [("after-image %d frame%s after it is off" % (n + 1, "s"[:n]), "%.4f" % pictures[off + n].max()) for n in (0, 1, 2, 3, 7)]
            self.goals.add("still emitter of 100: brightest beyond 2 pixels (display)", max(halo[4:off]), 2 / 255, False, "%.4f")
            self.goals.add("emitter of 100: after-image in the third frame (display)", pictures[off + 2].max(), 2 / 255, False, "%.4f")
        self.text.append("## An emitter of 100 on 0.002\n\nDisplay values above the ground's.\n\n" + report.table(("", "largest"), rows))
        self.data["emitter"] = dict(rows)

    # ---- NaN ----

    def bad_values(self):
        s = self.clip("clean", **{"class": "general"}, seed=120, frames=16, exposure=1.0)  # an automatic one changes everywhere with any pixel
        bad = Sequence(scenarios.write_bad_values(os.path.join(self.out, "clips", "bad"), s.folder))
        clean, broken = self.pictures(s), self.pictures(bad)
        y, x = np.mgrid[:s.output[1], :s.output[0]]
        scale = s.output[0] / s.render[0]
        distance = np.min([np.hypot(x + 0.5 - (px + 0.5) * scale, y + 0.5 - (py + 0.5) * scale) for _, (px, py), _ in scenarios.BAD], 0)
        share, largest, alike = 0.0, 0.0, CAP * 2
        for i in range(scenarios.BAD_FRAME, len(s)):
            a, b = display(np.nan_to_num(broken[i], nan=1e4)), display(clean[i])
            beyond = np.abs(a - b).max(2)[distance > 12]
            share, largest, alike = max(share, np.mean(beyond > 2 / 255)), max(largest, beyond.max()), min(alike, psnr(a, b))
        finite = float(all(np.isfinite(p).all() for p in broken))
        self.goals.add("NaN and infinity: every output value is finite", finite, 1.0, form="%.0f")
        self.goals.add("NaN and infinity: PSNR against the run without them", alike, CAP)
        self.goals.add("NaN and infinity: share beyond 12 pixels that changes by more than 2/255", share, 0.01, False, "%.4f")
        found = ("finite output", "least PSNR against the clean run", "share beyond 12 pixels that changes by more than 2/255", "largest change beyond 12 pixels")
        rows = list(zip(found, ("%.0f" % finite, "%.2f" % alike, "%.4f" % share, "%.4f" % largest)))
        self.text.append("## Bad values\n\n%d values that are not finite, in colour, motion and depth of frame %d.\n\n" % (len(scenarios.BAD), scenarios.BAD_FRAME) +
                         report.table(("", "found"), rows))
        self.data["bad values"] = dict(zip(found, map(float, (finite, alike, share, largest))))

    ALL = ("classes", "ratios", "ldr", "ghosts", "static", "cuts", "emitter", "bad_values")

    def run(self, only=()):
        for name in only or self.ALL:
            began = time.time()
            getattr(self, name)()
            print("%s: %.0f s" % (name, time.time() - began), flush=True)
        model = weights_of(self.model)
        with open(os.path.join(self.out, "checks.md"), "w") as f:
            f.write("Weights: %s, %s\n\n" % (model["name"], model["weights.safetensors"]) + "\n".join(self.text) + "\n## Goals\n\n" + self.goals.markdown())
        report.write_json(os.path.join(self.out, "checks.json"), {"model": model, "quick": self.quick, "data": self.data, "goals": self.goals.rows})
        return self.goals


def shrunk(mask):
    """True where the 3x3 neighbourhood is."""
    p = np.pad(mask, 1)
    h, w = mask.shape
    return np.logical_and.reduce([p[j:j + h, i:i + w] for j in range(3) for i in range(3)])


def trail(s, ours, fresh, start=5):
    """For every age: sums over the output pixels that a moving object uncovered so many frames ago."""
    (w, h), found = s.output, [[] for _ in range(GHOST_AGES)]
    rows, columns = np.arange(h) * s.render[1] // h, np.arange(w) * s.render[0] // w
    moves = [np.abs(s.motion(i)).max(2) > 0.5 for i in range(len(s))]
    for i in range(start, len(s)):
        now, depth = ~moves[i], s.depth(i)
        for n in range(1, GHOST_AGES + 1):
            before = s.depth(i - n)
            mask = shrunk(now & moves[i - n] & (before > 1.02 * depth))[rows][:, columns]
            now = now & ~moves[i - n]
            if not mask.any():
                continue
            r = display(s.reference(i))
            e, d, f = [a[mask] for a in (display(ours[i]) - r, display(s.reference(i - n)) - r, display(fresh[i]) - r)]
            found[n - 1].append([np.sum(e * d), np.sum(d * d), np.sum(e * e), np.sum(f * f), e.size])
    return found


def near_emitter(s, i, margin):
    at = scenarios.emitter_position(i, s.name.endswith("moving"))
    y, x = np.mgrid[:s.output[1], :s.output[0]]
    if at is None:
        return np.zeros(x.shape, bool)
    scale, side = scenarios.RATIO, scenarios.SIDE
    inside = lambda v, a: (v + 1 > a * scale - margin) & (v < (a + side) * scale + margin)
    return inside(x, at[0]) & inside(y, at[1])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--runner", required=True)
    p.add_argument("--model", required=True)
    p.add_argument("--neutral", help="a neutral model to compare with")
    p.add_argument("--network", default="cpu")
    p.add_argument("--option", action="append", default=[], help="passed on to the runner (repeatable)")
    p.add_argument("--out", required=True, help="clips are kept there for the next run")
    p.add_argument("--quick", action="store_true", help="fewer, smaller, shorter clips: a look, no judgement")
    p.add_argument("--only", action="append", choices=Checks.ALL, default=[])
    a = p.parse_args()
    os.makedirs(a.out, exist_ok=True)
    goals = Checks(Runner(a.runner, a.network, a.option), a.model, a.neutral, a.out, a.quick).run(a.only)
    print(goals.markdown(), end="")
    return 1 if goals.failed() else 0


if __name__ == "__main__":
    sys.exit(main())
