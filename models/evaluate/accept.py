"""Judges a model by everything at once: rendered sequences and the scenes of d4r-scene (evaluate.py), procedural checks
(checks.py), PyTorch against d4r-m (parity.py), the CPU network against the HIP network on the emulated device. One report.

    accept.py --build BUILD --model models/m --checkpoint models/m/checkpoint.pt --out DIR SEQUENCE...

Exit code 1 when a goal is not met. DIR/report.md has the goals that failed first, then all of them.
"""
import argparse
import json
import os
import subprocess
import sys
import time

import numpy as np

import evaluate
import report
from checks import Checks
from metrics_np import display, psnr
from sequences import Runner, Sequence, weights_of

ARCHITECTURES = ("gfx1201", "gfx1100")
NETWORKS_BETWEEN = 45.0  # dB
PARTS = ("sequences", "scenes", "checks", "parity", "networks")


def scenes(a):
    """Sequences of d4r-scene, which training does not see."""
    for name in ("street",) if a.quick else ("street", "gallery", "chart"):
        folder = os.path.join(a.out, "frames", name)
        if not os.path.exists(folder):
            os.makedirs(os.path.dirname(folder), exist_ok=True)
            subprocess.run([os.path.join(a.build, "bin", "d4r-scene"), "--quiet", "--scene", name, "--frames", "14", "--reference-from", "3", "--render",
                            "256x144", "--output", "512x288", folder], check=True)
        yield folder


def parity_goals(a, runner, sequences, goals):
    import parity
    for s in sequences:
        folder = runner.run(a.model, s, os.path.join(a.out, "parity", s.name))
        least, most = parity.compare(a.checkpoint, s, folder)
        goals.add("%s: PyTorch and %s, dB between" % (s.name, a.program), least, parity.LEAST_BETWEEN)
        goals.add("%s: PyTorch and %s against the reference, dB apart" % (s.name, a.program), most, parity.MOST_APART, False, "%.4f")
        print("parity %s: %.2f dB between, %.4f apart" % (s.name, least, most), flush=True)


def network_goals(a, sequences, goals):
    """The CPU network's pictures against those of the HIP network, executed by the emulated device."""
    hip = Runner(os.path.join(a.build, "bin", a.program), "hip", ["--exact-filter", "--watchdog", "600000"])
    for s in sequences:
        folder, count = os.path.join(a.out, "parity", s.name), len(s)
        Runner(hip.program, "cpu", ["--exact-filter"]).run(a.model, s, folder)
        for architecture in ARCHITECTURES:
            environment = {"D4R_HIP_LIBRARY": os.path.join(a.build, "lib", "libhipemu.so"), "D4R_HIPEMU_ARCH": architecture,
                           "D4R_KERNELS": os.path.join(a.build, "kernels")}
            other = hip.run(a.model, s, folder + "-" + architecture, environment=environment)
            pairs = [[display(s.picture(f, i), s.hdr) for f in (folder, other)] for i in range(count)]
            least = min(psnr(x, y) for x, y in pairs)
            apart = [abs(psnr(x, r) - psnr(y, r)) for (x, y), r in ((p, display(s.reference(i), s.hdr)) for i, p in enumerate(pairs) if s.frames[i].get("reference"))]
            goals.add("%s: CPU and %s, dB between" % (s.name, architecture), least, NETWORKS_BETWEEN)
            goals.add("%s: CPU and %s against the reference, dB apart" % (s.name, architecture), np.max(apart), 0.1, False, "%.4f")
            print("networks %s %s: %.2f dB between, %.4f apart" % (s.name, architecture, least, np.max(apart)), flush=True)


def write(a, parts):
    model, rows = weights_of(a.model), []
    text = "# %s\n\nWeights: %s\n\n" % (model["name"], model["weights.safetensors"])
    failed = [r for _, goals in parts for r in goals.failed()]
    total = sum(len(goals.rows) for _, goals in parts)
    text += "%d of %d goals are met.%s\n" % (total - len(failed), total, " Quick run: no judgement." if a.quick else "")
    if failed:
        only = report.Goals()
        only.rows = failed
        text += "\n## Not met\n\n" + only.markdown()
    for title, goals in parts:
        text += "\n## %s\n\n" % title + goals.markdown()
        rows += [{"part": title, **r} for r in goals.rows]
    with open(os.path.join(a.out, "report.md"), "w") as f:
        f.write(text + "\nTables and pictures: table.md and index.md in sequences/ and scenes/, checks/checks.md\n")
    report.write_json(os.path.join(a.out, "report.json"), {"model": model, "quick": a.quick, "goals": rows})
    print(text.split("\n## ")[0] + ("\n" + only.markdown() if failed else ""))
    return len(failed)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("sequences", nargs="*")
    p.add_argument("--build", required=True, help="build folder (bin/, lib/libhipemu.so, kernels/)")
    p.add_argument("--program", default="d4r-m")
    p.add_argument("--model", required=True)
    p.add_argument("--checkpoint", help="what the model was exported from; without it parity with PyTorch is left out")
    p.add_argument("--out", required=True)
    p.add_argument("--quick", action="store_true", help="small checks, no parity: a look, no judgement")
    p.add_argument("--part", action="append", choices=PARTS, help="repeatable; default: all")
    a = p.parse_args()
    began, parts = time.time(), []
    os.makedirs(a.out, exist_ok=True)
    neutral, runner = os.path.join(a.out, "neutral"), Runner(os.path.join(a.build, "bin", a.program), "cpu", ["--exact-filter"])
    if not os.path.exists(neutral):
        with open(os.path.join(a.model, "model.json")) as f:
            preset = json.load(f)["preset"]
        subprocess.run([os.path.join(a.build, "bin", "d4r-model"), "neutral", "--preset", preset, "--quiet", neutral], check=True)
    wanted, sequences, models = a.part or PARTS, [Sequence(s) for s in a.sequences], {"model": a.model, "neutral": neutral}
    if "sequences" in wanted and sequences:
        parts.append(("Rendered sequences", evaluate.run(runner, models, a.sequences, os.path.join(a.out, "sequences"))[1]))
    if "scenes" in wanted:
        parts.append(("Scenes of d4r-scene", evaluate.run(runner, models, list(scenes(a)), os.path.join(a.out, "scenes"))[1]))
    if "checks" in wanted:
        checks = os.path.join(a.out, "checks")
        os.makedirs(checks, exist_ok=True)
        parts.append(("Procedural checks", Checks(runner, a.model, neutral, checks, a.quick).run()))
    if "parity" in wanted and a.checkpoint and not a.quick and sequences:
        parts.append(("PyTorch against %s" % a.program, report.Goals()))
        parity_goals(a, runner, sequences, parts[-1][1])
    if "networks" in wanted and sequences:
        parts.append(("CPU network against HIP network (emulated)", report.Goals()))
        network_goals(a, sequences[:1] if a.quick else sequences, parts[-1][1])
    print("%.0f s" % (time.time() - began))
    return 1 if write(a, parts) else 0


if __name__ == "__main__":
    sys.exit(main())
