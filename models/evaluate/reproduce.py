"""Do two models have the same figures? Compares two evaluations (accept.py's folders, or evaluate.py's).

    reproduce.py FIRST SECOND [--within 0.3]     exit code 1 when a sequence's or class's PSNR differs by more
"""
import argparse
import json
import os
import sys

import report


def read(folder):
    """name -> PSNR of the model, and the hash of its weights"""
    found, model = {}, None
    for path in ("results.json", "sequences/results.json", "checks.json", "checks/checks.json"):
        path = os.path.join(folder, path)
        if not os.path.exists(path):
            continue
        with open(path) as f:
            data = json.load(f)
        model = data["model"]["weights.safetensors"]
        rows = data.get("sequences") or {k: v["mean"] for k, v in data["data"].items() if "mean" in v and isinstance(v["mean"], dict)}
        for name, r in rows.items():
            found[name] = (r["model"]["mean"] if "mean" in r["model"] else r["model"])["psnr"]
    if not found:
        raise SystemExit("%s: holds neither results.json nor checks.json" % folder)
    return found, model


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("first")
    p.add_argument("second")
    p.add_argument("--within", type=float, default=0.3, help="dB")
    a = p.parse_args()
    (first, one), (second, two) = read(a.first), read(a.second)
    common = [n for n in first if n in second]
    if not common:
        raise SystemExit("%s and %s have no sequence in common" % (a.first, a.second))
    goals = report.Goals()
    for name in common:
        goals.add("%s: %.2f and %.2f dB, apart" % (name, first[name], second[name]), abs(first[name] - second[name]), a.within, False)
    print("Weights: %s and %s%s\n\n%s" % (one, two, " (the same)" if one == two else "", goals.markdown()), end="")
    return 1 if goals.failed() else 0


if __name__ == "__main__":
    sys.exit(main())
