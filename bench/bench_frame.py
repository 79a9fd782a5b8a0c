#!/usr/bin/env python3
"""Whole frames: medians of every stage and of the frame, for each way of handing off and of noticing completion.

    bench_frame.py [--preset M|K] [options] MODEL FRAMES
    bench_frame.py --k-model MODEL_K [options] MODEL_M FRAMES

The second form measures both presets on the same frames, each way of M followed by the same way of K, and gives K's frame as a
share of M's. Runs d4r-m and d4r-k without reading pictures back. A way is "handoff,completion,graphs", as host,event,auto; with
--network cpu there is one, "cpu". The programs also copy each frame's planes from host memory, which an engine does not: that
stage is reported and taken off the frame. Nothing but the standard library is needed.
"""
import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile

WAYS = ["host,event,auto", "host,callback,auto", "marker,event,auto", "marker,callback,auto", "host,event,off"]
KEYS = ("handoff", "completion", "graphs")


def way_options(options, way):
    if options.network == "cpu":
        return []
    return ["--hip-platform", options.hip_platform] + [x for pair in zip(("--hip-" + k for k in KEYS), way.split(",")) for x in pair]


def run(options, preset, model, way):
    with tempfile.TemporaryDirectory() as folder:
        command = [options.d4r_m if preset == "M" else options.d4r_k, "-q", "--network", options.network]
        command += way_options(options, way) + ["--profile=" + folder, model, options.frames, "-", str(options.repeats)]
        subprocess.run(command, check=True)
        with open(os.path.join(folder, "profile.json")) as file:
            said = json.load(file)
    network = said["network"]
    asked = dict(zip(KEYS, way.split(","))) if options.network == "hip" else {}
    if said["preset"] != preset or network["kind"] != options.network or any(network[k] != v for k, v in asked.items()):
        sys.exit("bench_frame.py: asked for %s %s %s, but the profile is of %s %s" % (preset, options.network, way, said["preset"],
                                                                                  network))
    stages = {s["stage"]: {"clock": s["clock"], "median_us": s["median_us"]} for s in said["stages"]}
    counted = [s["median_us"] for n, s in stages.items() if n not in ("upload", "frame")]
    result = {"preset": preset, "model": os.path.basename(os.path.normpath(model)), "network": network["kind"], "device": said["device"],
              "output": said["output"], "render": said["max_render"], "frames_in_flight": said["frames_in_flight"],
              "frames": said["stages"][0]["count"], "stages": stages, "sum_us": sum(counted),
              "frame_us": stages["frame"]["median_us"] - stages.get("upload", {"median_us": 0})["median_us"]}
    return {**result, **asked}


def show(r):
    parts = ", ".join("%s %.0f" % (n, s["median_us"]) for n, s in r["stages"].items())
    way = " ".join(r[k] for k in KEYS if k in r) or "cpu"
    print("%s, %s: frame %.0f us without the upload; %s" % (r["preset"], way, r["frame_us"], parts), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("frames")
    parser.add_argument("--preset", choices=["M", "K"], default="M", help="of MODEL")
    parser.add_argument("--k-model", help="also measure preset K, with this model")
    parser.add_argument("--d4r-m", default="d4r-m")
    parser.add_argument("--d4r-k", default="d4r-k")
    parser.add_argument("--network", choices=["hip", "cpu"], default="hip")
    parser.add_argument("--hip-platform", default="amd")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--ways", action="append")
    parser.add_argument("--label", help="told in the JSON")
    parser.add_argument("--json")
    options = parser.parse_args()
    if options.k_model and options.preset == "K":
        parser.error("--k-model is for a MODEL of preset M")
    presets = [(options.preset, options.model)] + ([("K", options.k_model)] if options.k_model else [])
    results, shares = [], []
    for way in ["cpu"] if options.network == "cpu" else options.ways or WAYS:
        pair = [run(options, preset, model, way) for preset, model in presets]
        for result in pair:
            show(result)
        results += pair
        if len(pair) == 2:
            shares.append({"way": way, "m_us": pair[0]["frame_us"], "k_us": pair[1]["frame_us"],
                           "k_percent_of_m": 100 * pair[1]["frame_us"] / pair[0]["frame_us"]})
            print("%s: K takes %.1f %% of M's frame" % (way, shares[-1]["k_percent_of_m"]), flush=True)
    report = {"bench": "bench_frame", "date": datetime.date.today().isoformat(), "system": platform.platform(),
              "label": options.label or "", "presets": [p for p, _ in presets], "runs": results}
    if shares:
        report["k_against_m"] = shares
    if options.json:
        with open(options.json + ".tmp", "w") as file:
            json.dump(report, file, indent=1)
        os.replace(options.json + ".tmp", options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
