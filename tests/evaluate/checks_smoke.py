"""The procedural checks, small: the clips follow the conventions, every kind of check that is quick gives figures.

    checks_smoke.py SOURCE BIN TEST_DATA BUILD     exit 77 without PyTorch
"""
import json
import math
import os
import shutil
import subprocess
import sys

try:
    import torch  # noqa: F401
except ImportError:
    print("skipped: PyTorch is not installed (python3-torch)")
    sys.exit(77)
if not shutil.which("g++"):
    print("skipped: no g++ to build the generator")
    sys.exit(77)

source, binaries, _, build = (os.path.abspath(p) for p in sys.argv[1:5])
os.environ["D4R_TRAIN_BUILD"] = os.path.join(build, "native")
sys.path.insert(0, os.path.join(source, "models", "evaluate"))
import procedural  # noqa: E402
from checks import Checks  # noqa: E402
from sequences import Runner  # noqa: E402

MODEL = os.path.join(source, "models", "m")


def expect(condition, what):
    if not condition:
        raise SystemExit("failed: " + what)


def conventions():
    """What the clips declare about jitter, motion and depth is what the runner finds by warping."""
    clip = procedural.write_clip(os.path.join(build, "conventions"), **{"class": "facade"}, seed=7, render=(128, 96), output=(256, 192), frames=6, reference_from=6)
    found = os.path.join(build, "conventions.json")
    command = [os.path.join(binaries, "d4r-m"), "--quiet", "--check=only", "--json", found, MODEL, clip, "-"]
    expect(subprocess.run(command).returncode == 0, "a clip does not follow the conventions that it declares")


def same_seed():
    """The same options give the same bytes; other seeds do not."""
    read = lambda folder: open(os.path.join(folder, "color-0001.bin"), "rb").read()
    write = lambda name, seed: procedural.write_clip(os.path.join(build, name), seed=seed, render=(64, 64), output=(128, 128), frames=2)
    first, again, other = (read(write(n, s)) for n, s in (("seed-a", 3), ("seed-b", 3), ("seed-c", 4)))
    expect(first == again and first != other, "clips do not follow their seeds")


def small_checks():
    out = os.path.join(build, "checks")
    goals = Checks(Runner(os.path.join(binaries, "d4r-m")), MODEL, None, out, True).run(("ghosts", "emitter", "bad_values"))
    with open(os.path.join(out, "checks.json")) as f:
        kept = json.load(f)
    expect(len(goals.rows) >= 2 + 3 + 3 and kept["goals"] == goals.rows, "goals are missing")
    expect(all(math.isfinite(r["value"]) for r in goals.rows), "a figure is not finite")
    finite = [r for r in goals.rows if "every output value is finite" in r["what"]]
    expect(len(finite) == 1 and finite[0]["met"], "bad values reach the output")
    expect(os.path.getsize(os.path.join(out, "checks.md")) > 1000, "checks.md is missing or empty")


def main():
    conventions()
    same_seed()
    small_checks()
    return 0


if __name__ == "__main__":
    sys.exit(main())
