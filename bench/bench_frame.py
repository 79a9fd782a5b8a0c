#!/usr/bin/env python3
"""Whole frames: medians of every stage and of the frame, for each way of handing off and of noticing completion.

    bench_frame.py [--d4r-m PATH] [--repeats N] [--hip-platform nvidia] [--ways W]... [--json FILE] MODEL FRAMES

Runs d4r-m without reading pictures back. A way is "handoff,completion,graphs", as host,event,auto. d4r-m also copies each
frame's planes from host memory, which an engine does not: that stage is reported and taken off the frame. Nothing but
the standard library is needed.
"""
import argparse
import csv
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile

WAYS = ["host,event,auto", "host,callback,auto", "marker,event,auto", "marker,callback,auto", "host,event,off"]


def run(options, way):
    handoff, completion, graphs = way.split(",")
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        command = [options.d4r_m, "-q", "--network", "hip", "--hip-platform", options.hip_platform, "--hip-handoff", handoff,
                   "--hip-completion", completion, "--hip-graphs", graphs, "--json", report, "--profile=" + folder,
                   options.model, options.frames, "-", str(options.repeats)]
        subprocess.run(command, check=True)
        with open(report) as file:
            said = json.load(file)
        with open(os.path.join(folder, "stages.csv"), newline="") as file:
            rows = list(csv.DictReader(file))
    stages = {row["stage"]: {"clock": row["clock"], "median_us": float(row["median_us"])} for row in rows}
    counted = [s["median_us"] for n, s in stages.items() if n not in ("upload", "frame")]
    return {"handoff": handoff, "completion": completion, "graphs": graphs, "device": said["device"],
            "output": said["output"], "render": said["max_render"], "frames": int(rows[0]["count"]), "stages": stages,
            "sum_us": sum(counted),
            "frame_us": stages["frame"]["median_us"] - stages.get("upload", {"median_us": 0})["median_us"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("frames")
    parser.add_argument("--d4r-m", default="d4r-m")
    parser.add_argument("--hip-platform", default="amd")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--ways", action="append")
    parser.add_argument("--json")
    options = parser.parse_args()
    results = [run(options, way) for way in options.ways or WAYS]
    for r in results:
        parts = ", ".join("%s %.0f" % (n, s["median_us"]) for n, s in r["stages"].items())
        print("%s %s %s: frame %.0f us without the upload; %s" % (r["handoff"], r["completion"], r["graphs"], r["frame_us"], parts))
    report = {"bench": "bench_frame", "date": datetime.date.today().isoformat(), "system": platform.platform(),
              "runs": results}
    if options.json:
        with open(options.json + ".tmp", "w") as file:
            json.dump(report, file, indent=1)
        os.replace(options.json + ".tmp", options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
