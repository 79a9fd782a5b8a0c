#!/usr/bin/env python3
"""Plots of the benchmarks' JSON, as PNG; needs Matplotlib.

    plot.py RESULTS_DIR OUT_DIR

    stages.png    a frame's stages (bench_frame), presets M and K where both were measured
    roofline.png  layers against the measured matrix peak and bandwidth (bench_net_gpu)
    scaling.png   the network's time against the render size (bench_net_gpu), PyTorch's of the same run beside it (bench_pytorch)
    variants.png  layers of every labelled build of the kernels (bench_net_gpu)
    handoff.png   hand-offs and floors (bench_handoff)

Files are told by their "bench" field. A run is the second word of a file's name, as in h200_second_frame.json; of several runs
the newest that measured a thing is drawn: by "date", then by the run's number (first, second, ... or digits). Each plot's title
names its run. What is not there is not drawn.
"""
import glob
import json
import os
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]


def run_of(path):
    words = os.path.splitext(os.path.basename(path))[0].split("_")
    return words[1] if len(words) > 2 else ""


def age(report):
    """Sorts reports: the newest last."""
    run = report["run"]
    number = ORDINALS.index(run) + 1 if run in ORDINALS else int(run) if run.isdigit() else 0
    return report.get("date", ""), number, report["file"]


def load(folder):
    """The GPU's reports by bench, oldest first."""
    reports = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        with open(path) as file:
            report = json.load(file)
        report["run"], report["file"] = run_of(path), os.path.basename(path)
        reports.setdefault(report.get("bench"), []).append(report)
    return {bench: sorted(group, key=age) for bench, group in reports.items()}


def origin(report):
    return "%s run, %s" % (report["run"], report["date"]) if report["run"] else report["date"]


def at_1080p(report):
    return next(s for s in report["sizes"] if s["render"] == [1920, 1080])


def save(figure, folder, name):
    figure.tight_layout()
    # Without a date or a version, the same results make the same file.
    figure.savefig(os.path.join(folder, name), dpi=110, metadata={"Software": None})
    plt.close(figure)


def label_of(run):
    way = "cpu"
    if "handoff" in run:
        way = "%s, %s, %s" % (run["handoff"], run["completion"], {"auto": "graph", "on": "graph", "off": "plain"}[run["graphs"]])
    return "%s: %s" % (run.get("preset", "M"), way)


def stages(report, folder):
    runs = report["runs"][::-1]
    figure, axis = plt.subplots(figsize=(9, 1 + 0.55 * len(runs)))
    names = []
    for run in runs[::-1]:
        names += [n for n in run["stages"] if n not in ("upload", "frame") and n not in names]
    left = [0.0] * len(runs)
    labels = [label_of(r) for r in runs]
    for name in names:
        widths = [r["stages"].get(name, {"median_us": 0})["median_us"] for r in runs]
        axis.barh(labels, widths, left=left, label=name)
        left = [a + b for a, b in zip(left, widths)]
    axis.plot([r["frame_us"] for r in runs], labels, "k|", markersize=16, label="frame")
    axis.set_xlabel("us (medians)")
    axis.set_title("%dx%d to %dx%d, %s (%s)" % (*runs[0]["render"], *runs[0]["output"], runs[0]["device"].split(",")[0],
                                              origin(report)), fontsize=9)
    axis.legend(fontsize=7, ncol=4, loc="upper center", bbox_to_anchor=(0.5, -0.25))
    save(figure, folder, "stages.png")


def roofline(report, folder):
    peak, copy = report["mma_f16_peak_tflops"], report["copy_gb_s"] / 1e3
    size = at_1080p(report)
    figure, axis = plt.subplots(figsize=(7, 4.5))
    intensities = [10**(i / 20) for i in range(20, 90)]
    axis.loglog(intensities, [min(peak, copy * i) for i in intensities], "k-", label="measured mma.sync peak and copy")
    for layer in size["layers"]:
        axis.loglog(layer["tflops"] / (layer["gb_s"] / 1e3), layer["tflops"], "o", label=layer["name"])
    axis.set_xlabel("operations a byte of tokens")
    axis.set_ylabel("TFLOP/s")
    axis.set_title("%s, %dx%d render (%s%s)" % (report["device"], *size["render"], origin(report), ", " + report["label"]
                                                if report.get("label") else ""), fontsize=9)
    axis.legend(fontsize=7, ncol=2)
    save(figure, folder, "roofline.png")


def scaling(report, pytorch, folder):
    figure, axis = plt.subplots(figsize=(7, 4.5))
    pixels = [s["render"][0] * s["render"][1] / 1e6 for s in report["sizes"]]
    axis.plot(pixels, [s["median_us"] / 1e3 for s in report["sizes"]], "o-", label="kernels")
    for other in pytorch:
        x = [s["render"][0] * s["render"][1] / 1e6 for s in other["sizes"]]
        for key, label in (("eager_us", "PyTorch f16, eager"), ("compiled_us", "PyTorch f16, torch.compile")):
            axis.plot(x, [s[key] / 1e3 for s in other["sizes"]], "s", label=label)
    axis.set_xlabel("render size, Mpixel")
    axis.set_ylabel("network, ms")
    axis.set_yscale("log")
    axis.set_xscale("log")
    axis.set_title("%s (%s)" % (report["device"], origin(report)), fontsize=9)
    axis.legend(fontsize=8)
    save(figure, folder, "scaling.png")


def variants(reports, folder):
    figure, axis = plt.subplots(figsize=(9, 4.5))
    width = 0.8 / len(reports)
    for n, report in enumerate(reports):
        size = at_1080p(report)
        x = [i + n * width for i in range(len(size["layers"]))]
        axis.bar(x, [layer["us"] for layer in size["layers"]], width,
                 label="%s: %.0f us whole (%s)" % (report["label"], size["median_us"], report["run"]))
    axis.set_xticks([i + 0.4 for i in range(len(size["layers"]))], [layer["name"] for layer in size["layers"]])
    axis.set_ylabel("us at 1920x1080 render")
    axis.legend(fontsize=7)
    save(figure, folder, "variants.png")


def handoff(report, folder):
    results = report["results"]
    figure, axis = plt.subplots(figsize=(8, 1 + 0.35 * len(results)))
    names = [r["name"] for r in results][::-1]
    axis.barh(names, [r["median_us"] for r in results][::-1],
              color=["tab:gray" if n.startswith("floor") else "tab:blue" for n in names])
    axis.set_xlabel("us from before the front's submission to the back's end")
    axis.set_title("%s (%s)" % (report["device"], origin(report)), fontsize=9)
    save(figure, folder, "handoff.png")


def nets_with_1080p(nets):
    return [r for r in nets if any(s["render"] == [1920, 1080] for s in r["sizes"])]


def main_build(nets):
    """Of the newest run: the build labelled "default", else the fastest."""
    newest = [r for r in nets if r["run"] == nets[-1]["run"]]
    return next((r for r in newest if r.get("label") == "default"), min(newest, key=lambda r: at_1080p(r)["median_us"]))


def main():
    if len(sys.argv) != 3:
        sys.stderr.write(__doc__)
        return 2
    reports = load(sys.argv[1])
    os.makedirs(sys.argv[2], exist_ok=True)
    nets = [r for r in reports.get("bench_net_gpu", []) if any("layers" in s for s in r["sizes"])]
    whole = [r for r in nets if len(r["sizes"]) >= 5]
    if "bench_frame" in reports:
        stages(reports["bench_frame"][-1], sys.argv[2])
    large = nets_with_1080p(nets)
    if large:
        roofline(main_build(large), sys.argv[2])
    if whole:
        scaling(whole[-1], [r for r in reports.get("bench_pytorch", []) if r["run"] == whole[-1]["run"]], sys.argv[2])
    builds = [r for r in large if r not in whole]
    if len(builds) > 1:
        variants(builds, sys.argv[2])
    if "bench_handoff" in reports:
        handoff(reports["bench_handoff"][-1], sys.argv[2])
    return 0


if __name__ == "__main__":
    sys.exit(main())
