"""A few training steps on the CPU, small, of both presets: gradients of the native stages and blocks, a loss that falls on a fixed
batch, exact resume, export, and the exported files through d4r-model.

    train_smoke.py MODELS_TRAIN_FOLDER BUILD_FOLDER [D4R_MODEL]     exit 77 without PyTorch
"""
import math
import os
import shutil
import subprocess
import sys
import time

try:
    import torch
except ImportError:
    print("skipped: PyTorch is not installed (python3-torch)")
    sys.exit(77)
if not shutil.which("g++"):
    print("skipped: no g++ to build the native stages")
    sys.exit(77)

folder, build = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
tool = sys.argv[3] if len(sys.argv) > 3 else None
os.environ["D4R_TRAIN_BUILD"] = os.path.join(build, "native")
sys.path.insert(0, folder)
import export  # noqa: E402
import test_k  # noqa: E402
import test_stages  # noqa: E402
import train  # noqa: E402


SIZES = {"m": ["--batch", "2", "--size", "32"], "k": ["--batch", "1", "--size", "128"]}


def options(preset, out, *more):
    sys.argv = ["train.py", "--preset", preset, "--device", "cpu", "--out", out, "--frames", "2", "--total", "40", "--geometries", "2",
                "--warmup", "4", *SIZES[preset], *more]
    os.makedirs(out, exist_ok=True)
    return train.arguments()


def fresh(preset, name, *more):
    out = os.path.join(build, preset + "_" + name)
    shutil.rmtree(out, ignore_errors=True)
    run = train.Run(options(preset, out, *more))
    run.restart_clips()
    return run


def values(run):
    return torch.cat([t.reshape(-1) for t in run.optimiser.values + run.optimiser.average + run.optimiser.m + run.optimiser.v])


def guard():
    """A loss that leaps brings back the older of the last two good states and halves the rate."""
    run = fresh("m", "guard")
    watch, first = run.guard, run.optimiser.values[0]
    for i, (loss, back) in enumerate(((9, False), (0.06, False), (0.07, False), (0.061, False), (0.1, True), (0.08, False), (math.nan, True))):
        first.fill_(i)
        assert watch.watch(train.Guard.SETTLED + (1 if i else 0), loss) == back, (i, loss)
    assert first[0] == 2 and watch.slowed == 0.25, (first[0], watch.slowed)


def falling_loss(preset):
    run = fresh(preset, "falling")
    track, losses = run.tracks[0], []
    track.take()
    start = [getattr(track.state, n).clone() for n in track.state.NAMES]
    run.optimiser.rate.fill_(2e-3)
    for _ in range(10):
        for name, t in zip(track.state.NAMES, start):
            getattr(track.state, name).copy_(t)
        track.forward_backward()
        losses.append(float(track.loss))
    print("%s: loss on a fixed batch: %.5f -> %.5f" % (preset, losses[0], losses[-1]))
    return losses[-1] < 0.97 * losses[0]


def exact_resume(preset, steps):
    run = fresh(preset, "resume", "--steps", str(steps))
    run.train(time.time())
    run.save()
    run.args.steps = 2 * steps
    run.train(time.time())
    again = train.Run(options(preset, run.args.out, "--steps", str(2 * steps)))
    again.load()
    again.restart_clips()
    again.train(time.time())
    same = torch.equal(values(run), values(again))
    print("%s: resume after %d of %d steps: %s" % (preset, steps, 2 * steps, "identical" if same else "different"))
    size = os.path.getsize(run.path("checkpoint.pt"))
    print("checkpoint: %.1f MiB" % (size / 2 ** 20))
    return same and size <= 16 * 2 ** 20, run


def exported(preset, run, tool):
    """The checkpoint through export.py, and what it wrote through the tool."""
    path, out = os.path.join(build, preset + ".safetensors"), os.path.join(build, preset + "_model")
    sys.argv = ["export.py", run.path("checkpoint.pt"), path]
    export.main()
    if not tool:
        return True
    shutil.rmtree(out, ignore_errors=True)
    more = ["--preset", "K", "--tables", os.path.join(build, "lut.bin")] if preset == "k" else []
    packed = subprocess.run([tool, "pack", "--quiet", *more, path, out]).returncode
    return packed == 0 and subprocess.run([tool, "verify", "--quiet", out]).returncode == 0


def main():
    torch.set_num_threads(1)
    ok = test_stages.main() == 0
    ok &= test_k.main() == 0
    guard()
    for preset, steps in (("m", 3), ("k", 2)):
        ok &= falling_loss(preset)
        resumed, run = exact_resume(preset, steps)
        ok &= resumed & exported(preset, run, tool)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
