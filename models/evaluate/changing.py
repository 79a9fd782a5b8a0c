"""What a render size that changes every frame costs: scenes of d4r-scene, the sizes in turn against each size alone.

    changing.py --build BUILD --model models/k --out DIR [--scene NAME]... [--render WxH,WxH,..] [--output WxH] [--frames N] [--most DB]

The runner is d4r-k or d4r-m by the model's preset, with its validation layer. Every frame's reference is the same in all runs, so the runs'
PSNRs can be compared frame by frame. Writes DIR/changing.json; exit code 1 when a scene loses more than --most dB against the mean of
its fixed-size runs, 2 when a runner fails. Needs the Python standard library only.
"""
import argparse
import json
import os
import subprocess
import sys


def command(*words):
    done = subprocess.run([str(w) for w in words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.stderr.write("changing.py: %s: exit code %d: %s\n" % (" ".join(map(str, words)), done.returncode, done.stderr.strip()))
        sys.exit(2)
    return done.stderr.strip()


def preset_of(model):
    with open(os.path.join(model, "model.json")) as f:
        return json.load(f).get("preset", "M").lower()


class Clips:
    def __init__(self, a):
        self.a, self.bin = a, os.path.join(a.build, "bin")
        self.runner = os.path.join(self.bin, "d4r-" + preset_of(a.model))

    def render(self, scene, sizes, folder):
        """Writes the sequence. References, which are the same whatever the render size, are rendered once a scene."""
        a, owner = self.a, scene + "-changing"
        own = folder == os.path.join(a.out, owner)
        command(os.path.join(self.bin, "d4r-scene"), "--quiet", "--scene", scene, "--frames", a.frames, "--samples", a.samples, "--reference-from",
                a.count_from if own else a.frames, "--render", sizes, "--output", a.output, folder)
        if own:
            return
        with open(os.path.join(a.out, owner, "frames.json")) as f:
            references = [i["reference"] for i in json.load(f)["frames"]]
        with open(os.path.join(folder, "frames.json")) as f:
            sequence = json.load(f)
        for frame, reference in zip(sequence["frames"], references):
            frame["reference"] = reference and os.path.join("..", owner, reference)
        with open(os.path.join(folder, "frames.json"), "w") as f:
            json.dump(sequence, f, indent=1)

    def curve(self, scene, render, tag, *options):
        """PSNR of the counted frames, by frame number, and what the runner said."""
        a = self.a
        frames, json_file = os.path.join(a.out, "%s-%s" % (scene, tag)), os.path.join(a.out, "%s-%s.json" % (scene, tag))
        if not os.path.exists(frames):
            self.render(scene, render, frames)
        said = command(self.runner, "--quiet", "--exact-filter", "--network", a.network, "--validate", "--json", json_file, "--force", *options, a.model, frames, frames + "-out")
        with open(json_file) as f:
            return {i["frame"]: i["psnr"] for i in json.load(f)["frames"] if "psnr" in i and i["frame"] >= a.count_from}, said

    def scene(self, scene):
        sizes = self.a.render.split(",")
        changing, said = self.curve(scene, self.a.render, "changing")
        fixed = {s: self.curve(scene, s, s)[0] for s in sizes}
        if said:
            print("%s: %s" % (scene, said))
        mean = lambda curve: sum(curve.values()) / len(curve)
        means = {s: mean(c) for s, c in fixed.items()}
        whole = sum(means.values()) / len(means)
        # Frames of one size, in both runs: which sizes lose and which gain.
        by_size = {s: [(changing[i], fixed[s][i]) for i in changing if i % len(sizes) == n] for n, s in enumerate(sizes)}
        return {"fixed": means, "fixed_mean": whole, "changing": mean(changing), "difference": mean(changing) - whole,
                "by_size": {s: {"changing": sum(x for x, _ in v) / len(v), "fixed": sum(x for _, x in v) / len(v)} for s, v in by_size.items() if v}}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", required=True)
    p.add_argument("--model", required=True)
    p.add_argument("--out", required=True)
    p.add_argument("--scene", action="append", choices=("street", "gallery", "chart"), help="default: all three")
    p.add_argument("--render", default="256x144,320x180,288x162,384x216,352x198", help="sizes in turn")
    p.add_argument("--output", default="640x360")
    p.add_argument("--frames", type=int, default=40)
    p.add_argument("--count-from", type=int, default=8, help="first frame that counts")
    p.add_argument("--samples", type=int, default=32, help="of a reference pixel")
    p.add_argument("--network", default="cpu")
    p.add_argument("--most", type=float, default=0.5, help="dB that a scene may lose")
    a = p.parse_args()
    os.makedirs(a.out, exist_ok=True)
    clips, results, bad = Clips(a), {}, 0
    for scene in a.scene or ("street", "gallery", "chart"):
        r = results[scene] = clips.scene(scene)
        bad += r["difference"] < -a.most
        print("%s: changing %.2f dB, fixed sizes %.2f (%s): %+.2f dB" %
              (scene, r["changing"], r["fixed_mean"], ", ".join("%s %.2f" % i for i in r["fixed"].items()), r["difference"]), flush=True)
        print("    by size, changing / fixed: " + ", ".join("%s %.2f / %.2f" % (s, v["changing"], v["fixed"]) for s, v in r["by_size"].items()), flush=True)
    with open(os.path.join(a.out, "changing.json"), "w") as f:
        json.dump(results, f, indent=1)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
