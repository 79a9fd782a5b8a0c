"""The evaluation of a small rendered scene: every output is there, PSNR and SSIM agree with the runner's own, goals can
fail. The shipped weights against bilinear on the test sequences, with stated margins.

    evaluate_smoke.py SOURCE BIN TEST_DATA BUILD     exit 77 without NumPy
"""
import json
import math
import os
import subprocess
import sys

try:
    import numpy as np  # noqa: F401
except ImportError:
    print("skipped: NumPy is not installed (python3-numpy)")
    sys.exit(77)

source, binaries, data, build = (os.path.abspath(p) for p in sys.argv[1:5])
sys.path.insert(0, os.path.join(source, "models", "evaluate"))
import evaluate  # noqa: E402
import report  # noqa: E402
from sequences import Runner, Sequence  # noqa: E402

MODEL = os.path.join(source, "models", "m")
# PSNR and SSIM that the shipped weights must have more than bilinear, on frames 4 to 9 of static and frame 3 of brick_pan. The
# first ones of preset M had 7.3 dB and 0.18, 3.3 dB and 0.165 more; preset K's 7.0 dB and 0.18, 1.2 dB and 0.06.
MARGINS = {"m": {"static": (6.0, 0.15), "brick_pan": (2.5, 0.12)}, "k": {"static": (6.0, 0.15), "brick_pan": (0.8, 0.04)}}


def tool(name, *arguments):
    subprocess.run([os.path.join(binaries, name), *arguments], check=True)


def expect(condition, what):
    if not condition:
        raise SystemExit("failed: " + what)


def small_scene(runner):
    out, scene, neutral = os.path.join(build, "small"), os.path.join(build, "street"), os.path.join(build, "neutral")
    tool("d4r-scene", "--quiet", "--force", "--frames", "6", "--reference-from", "4", "--render", "128x72", "--output", "256x144", scene)
    tool("d4r-model", "neutral", "--quiet", "--force", neutral)
    results, goals = evaluate.run(runner, {"model": MODEL, "neutral": neutral}, [scene], out, with_flip=False)
    for name in ("results.json", "table.md", "index.md", "street-sheet.png", "street-worst.png", "street-psnr.svg"):
        expect(os.path.getsize(os.path.join(out, name)) > 100, name + " is missing or empty")
    with open(os.path.join(out, "results.json")) as f:
        kept = json.load(f)
    found = kept["sequences"]["street"]
    expect(set(found) == {"model", "neutral", "bicubic", "bilinear", "taau"}, "a source is missing: %s" % sorted(found))
    for source_name, r in found.items():
        expect(all(math.isfinite(r["mean"][m]) for m in ("psnr", "ssim", "tpsnr")), source_name + " has no figures")
        expect([row["frame"] for row in r["frames"]] == [4, 5], source_name + ": other frames than 4 and 5 count")
    expect(goals.rows and kept["goals"] == goals.rows, "goals are not in results.json")

    own = os.path.join(build, "own.json")
    tool("d4r-m", "--quiet", "--network", "cpu", "--json", own, MODEL, scene, os.path.join(build, "street-own"))
    with open(own) as f:
        frames = {row["frame"]: row for row in json.load(f)["frames"]}
    for row in found["model"]["frames"]:
        other = frames[row["frame"]]
        expect(abs(row["psnr"] - other["psnr"]) < 0.01 and abs(row["ssim"] - other["ssim"]) < 1e-4, "the runner says other figures: %s, %s" % (row, other))
    return results[0]


def shipped_weights(preset):
    runner, model = Runner(os.path.join(binaries, "d4r-" + preset)), os.path.join(source, "models", preset)
    for name, (psnr, ssim) in MARGINS[preset].items():
        out = os.path.join(build, preset)
        os.makedirs(out, exist_ok=True)
        result = evaluate.evaluate(runner, {"model": model}, Sequence(os.path.join(data, name)), out, with_flip=False, names=("bilinear",))
        ours, plain = result.mean("model"), result.mean("bilinear")
        print("%s, %s: %.2f dB, %.4f; bilinear %.2f dB, %.4f" % (preset, name, ours["psnr"], ours["ssim"], plain["psnr"], plain["ssim"]))
        expect((name == "static") == bool(result.still_curve), name + ": whether it is still is not seen")
        expect(ours["psnr"] >= plain["psnr"] + psnr and ours["ssim"] >= plain["ssim"] + ssim,
               "%s, %s: less than %.1f dB and %.2f above bilinear" % (preset, name, psnr, ssim))


def failing_goals(result):
    """A model that is no better than bilinear must not pass."""
    goals = report.Goals()
    result.scores["model"] = result.scores["bilinear"]
    evaluate.goals_of(result, goals)
    expect(goals.failed() and "**NO**" in goals.markdown(), "bilinear passes as a model")


def main():
    runner = Runner(os.path.join(binaries, "d4r-m"))
    failing_goals(small_scene(runner))
    for preset in MARGINS:
        shipped_weights(preset)
    return 0


if __name__ == "__main__":
    sys.exit(main())
