#!/bin/sh
# plot.py on the committed results: five pictures with something in them, and the newest run's reports.
here=$(cd "$(dirname "$0")" && pwd)
for python in python3 /usr/bin/python3 ""; do
    [ -n "$python" ] || { echo "skipped: no Python with Matplotlib (python3-matplotlib)"; exit 77; }
    $python -c 'import matplotlib' 2>/dev/null && break
done
work=$(mktemp -d "${TMPDIR:-/tmp}/d4r-plot.XXXXXX")
trap 'rm -rf "$work"' EXIT
export MPLCONFIGDIR="$work/config" PYTHONDONTWRITEBYTECODE=1
$python "$here/plot.py" "$here/results" "$work/out" || { echo "FAILED: plot.py"; exit 1; }
cd "$here" && $python - "$work" <<'X' || exit 1
import json, os, sys
import matplotlib.image as image
import plot

work = sys.argv[1]
for name in ("stages", "roofline", "scaling", "variants", "handoff"):
    path = os.path.join(work, "out", name + ".png")
    size = os.path.getsize(path)
    pixels = image.imread(path)[..., :3]
    coloured = int(((pixels.max(axis=-1) - pixels.min(axis=-1)) > 0.2).sum())
    print("%s: %d bytes, %d x %d, %d coloured pixels" % (name, size, pixels.shape[1], pixels.shape[0], coloured))
    assert size < 150000 and coloured > 100, path

# The newest: by date, then by the run's number, not by name.
folder = os.path.join(work, "results")
os.makedirs(folder)
for name, date in (("card_first_frame", "2026-01-02"), ("card_second_frame", "2026-01-02"), ("card_third_frame", "2026-01-01"),
                   ("card_10_net", "2026-01-01"), ("card_9_net", "2026-01-01"), ("card_other", "2026-01-01")):
    with open(os.path.join(folder, name + ".json"), "w") as file:
        json.dump({"bench": name.split("_")[-1], "date": date, "label": name}, file)
reports = plot.load(folder)
assert [r["run"] for r in reports["frame"]] == ["third", "first", "second"], reports
assert [r["run"] for r in reports["net"]] == ["9", "10"], reports
assert reports["other"][0]["run"] == "" and plot.origin(reports["frame"][-1]) == "second run, 2026-01-02"

def build(run, label, us):
    return {"run": run, "label": label, "sizes": [{"render": [1920, 1080], "median_us": us}]}

assert plot.main_build([build("first", "default", 1), build("second", "split", 9), build("second", "fast", 5)])["label"] == "fast"
assert plot.main_build([build("second", "split", 3), build("second", "default", 9)])["label"] == "default"
print("all good")
X
