"""A few training steps on the CPU, small: gradients of the native stages, a loss that falls on a fixed batch, exact resume,
export, and the exported file through d4r-model.

    train_smoke.py MODELS_TRAIN_FOLDER BUILD_FOLDER [D4R_MODEL]     exit 77 without PyTorch
"""
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
import test_stages  # noqa: E402
import train  # noqa: E402


def options(out, *more):
    sys.argv = ["train.py", "--device", "cpu", "--out", out, "--batch", "2", "--frames", "2", "--size", "32", "--total", "40",
                "--geometries", "2", "--warmup", "4", *more]
    os.makedirs(out, exist_ok=True)
    return train.arguments()


def fresh(name, *more):
    out = os.path.join(build, name)
    shutil.rmtree(out, ignore_errors=True)
    run = train.Run(options(out, *more))
    run.restart_clips()
    return run


def values(run):
    return torch.cat([t.reshape(-1) for t in run.optimiser.values + run.optimiser.average + run.optimiser.m + run.optimiser.v])


def falling_loss():
    run = fresh("falling")
    track, losses = run.tracks[0], []
    track.take()
    start = [getattr(track.state, n).clone() for n in track.state.NAMES]
    run.optimiser.rate.fill_(2e-3)
    for _ in range(10):
        for name, t in zip(track.state.NAMES, start):
            getattr(track.state, name).copy_(t)
        track.forward_backward()
        losses.append(float(track.loss))
    print("loss on a fixed batch: %.5f -> %.5f" % (losses[0], losses[-1]))
    return losses[-1] < 0.97 * losses[0]


def exact_resume():
    run = fresh("resume", "--steps", "3")
    run.train(time.time())
    run.save()
    run.args.steps = 6
    run.train(time.time())
    again = train.Run(options(run.args.out, "--steps", "6"))
    again.load()
    again.restart_clips()
    again.train(time.time())
    same = torch.equal(values(run), values(again))
    print("resume after 3 of 6 steps: %s" % ("identical" if same else "different"))
    size = os.path.getsize(run.path("checkpoint.pt"))
    print("checkpoint: %.1f MiB" % (size / 2 ** 20))
    return same and size <= 16 * 2 ** 20, run


def exported(run, tool):
    path = os.path.join(build, "weights.safetensors")
    named = export.tensors(train.network.Parameters(*run.optimiser.average))
    export.write_safetensors(path, named, {"preset": "m"})
    print("exported %d tensors" % len(named))
    if not tool:
        return True
    out = os.path.join(build, "model")
    shutil.rmtree(out, ignore_errors=True)
    packed = subprocess.run([tool, "pack", "--quiet", path, out]).returncode
    return packed == 0 and subprocess.run([tool, "verify", "--quiet", out]).returncode == 0


def main():
    torch.set_num_threads(1)
    ok = test_stages.main() == 0
    ok &= falling_loss()
    resumed, run = exact_resume()
    ok &= resumed & exported(run, tool)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
