"""Learning curve of a log.json (train.py) as a PNG."""
import argparse
import json

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("log")
    p.add_argument("out")
    a = p.parse_args()
    with open(a.log) as f:
        log = json.load(f)
    rows = np.array(log["log"])
    window = min(10, len(rows))
    smooth = np.convolve(rows[:, 2], np.ones(window) / window, "valid")
    figure, left = plt.subplots(figsize=(7, 4), dpi=110)
    left.plot(rows[:, 0], rows[:, 2], color="0.75", label="loss, 100 steps")
    left.plot(rows[window - 1:, 0], smooth, color="C0", label="mean of %d" % window)
    for phase in log.get("past", []):
        left.axvline(phase["step"], color="0.5", linestyle=":")
    left.set_xlabel("step")
    left.set_ylabel("training loss")
    right = left.twinx()
    right.plot(rows[:, 0], rows[:, 4], color="C1", linewidth=1)
    right.set_ylabel("learning rate", color="C1")
    left.legend(loc="upper right")
    figure.tight_layout()
    figure.savefig(a.out)


if __name__ == "__main__":
    main()
