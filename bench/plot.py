#!/usr/bin/env python3
"""Plots of the benchmarks' JSON, as PNG; needs Matplotlib.

    plot.py RESULTS_DIR OUT_DIR

    stages.png    a frame's stages (bench_frame)
    roofline.png  layers against the measured matrix peak and bandwidth (bench_net_gpu)
    scaling.png   the network's time against the render size (bench_net_gpu), PyTorch's beside it (bench_pytorch)
    variants.png  layers for each configuration of windows and warps (bench_net_gpu reports with labels)
    handoff.png   hand-offs and floors (bench_handoff)

Files are told by their "bench" field; what is not there is not drawn.
"""
import glob
import json
import os
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402


def load(folder):
    reports = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        with open(path) as file:
            report = json.load(file)
        reports.setdefault(report.get("bench"), []).append(report)
    return reports


def save(figure, folder, name):
    figure.tight_layout()
    figure.savefig(os.path.join(folder, name), dpi=110)
    plt.close(figure)


def stages(report, folder):
    runs = report["runs"]
    figure, axis = plt.subplots(figsize=(9, 1 + 0.55 * len(runs)))
    names = [n for n in runs[0]["stages"] if n not in ("upload", "frame")]
    left = [0.0] * len(runs)
    labels = ["%s, %s, %s" % (r["handoff"], r["completion"], {"auto": "graph", "on": "graph", "off": "plain"}[r["graphs"]])
              for r in runs]
    for name in names:
        widths = [r["stages"][name]["median_us"] for r in runs]
        axis.barh(labels, widths, left=left, label=name)
        left = [a + b for a, b in zip(left, widths)]
    axis.plot([r["frame_us"] for r in runs], labels, "k|", markersize=16, label="frame")
    axis.set_xlabel("us (medians)")
    axis.set_title("%dx%d to %dx%d, %s" % (*runs[0]["render"], *runs[0]["output"], runs[0]["device"].split(",")[0]), fontsize=9)
    axis.legend(fontsize=7, ncol=4, loc="upper center", bbox_to_anchor=(0.5, -0.25))
    save(figure, folder, "stages.png")


def roofline(report, folder):
    peak, copy = report["mma_f16_peak_tflops"], report["copy_gb_s"] / 1e3
    size = max(report["sizes"], key=lambda s: s["render"] == [1920, 1080])
    figure, axis = plt.subplots(figsize=(7, 4.5))
    intensities = [10**(i / 20) for i in range(20, 90)]
    axis.loglog(intensities, [min(peak, copy * i) for i in intensities], "k-", label="measured mma.sync peak and copy")
    for layer in size["layers"]:
        axis.loglog(layer["tflops"] / (layer["gb_s"] / 1e3), layer["tflops"], "o", label=layer["name"])
    axis.set_xlabel("operations a byte of tokens")
    axis.set_ylabel("TFLOP/s")
    axis.set_title("%s, %dx%d render" % (report["device"], *size["render"]), fontsize=9)
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
    axis.set_title(report["device"], fontsize=9)
    axis.legend(fontsize=8)
    save(figure, folder, "scaling.png")


def variants(reports, folder):
    figure, axis = plt.subplots(figsize=(9, 4.5))
    width = 0.8 / len(reports)
    for n, report in enumerate(reports):
        size = max(report["sizes"], key=lambda s: s["render"] == [1920, 1080])
        x = [i + n * width for i in range(len(size["layers"]))]
        axis.bar(x, [layer["us"] for layer in size["layers"]], width, label=report["label"])
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
    save(figure, folder, "handoff.png")


def main():
    if len(sys.argv) != 3:
        sys.stderr.write(__doc__)
        return 2
    reports = load(sys.argv[1])
    os.makedirs(sys.argv[2], exist_ok=True)
    nets = reports.get("bench_net_gpu", [])
    whole = [r for r in nets if len(r["sizes"]) >= 5]
    if "bench_frame" in reports:
        stages(reports["bench_frame"][0], sys.argv[2])
    if whole:
        roofline(whole[0], sys.argv[2])
        scaling(whole[0], reports.get("bench_pytorch", []), sys.argv[2])
    if len(nets) > 1:
        variants([r for r in nets if r not in whole], sys.argv[2])
    if "bench_handoff" in reports:
        handoff(reports["bench_handoff"][0], sys.argv[2])
    return 0


if __name__ == "__main__":
    sys.exit(main())
