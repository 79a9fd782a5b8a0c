#!/bin/sh
# bench_frame.py with the CPU network: both presets in one report, and what it refuses.   BIN=<tools> DATA=<sequences>
. "$(dirname "$0")/../tests/cli/lib.sh"

here=$(cd "$(dirname "$0")" && pwd)
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
bench="python3 $here/bench_frame.py --network cpu --repeats 1 --d4r-m $BIN/d4r-m --d4r-k $BIN/d4r-k"
"$BIN/d4r-model" neutral --quiet model && "$BIN/d4r-model" neutral --preset K --quiet model-k || fail "neutral models"
expect 0 "K takes" $bench --k-model model-k --label both --json both.json model "$DATA/brick_pan"
expect 0 "K, cpu" $bench --preset K --json k.json model-k "$DATA/brick_pan"
python3 - <<'X' || fail "the reports"
import json
both, k = json.load(open("both.json")), json.load(open("k.json"))
assert both["label"] == "both" and both["presets"] == ["M", "K"] and [r["preset"] for r in both["runs"]] == ["M", "K"]
m, other = both["runs"]
assert "expansion" in m["stages"] and "expansion" not in other["stages"]
assert m["render"] == other["render"] and m["output"] == other["output"] == [640, 360] and m["frames"] == other["frames"] == 4
for r in both["runs"] + k["runs"]:
    assert r["network"] == "cpu" and "cpu" in r["device"] and "handoff" not in r
    assert abs(r["frame_us"] + r["stages"]["upload"]["median_us"] - r["stages"]["frame"]["median_us"]) < 0.01
    assert all(s["median_us"] > 0 for n, s in r["stages"].items() if n in ("input", "network", "reconstruction", "frame"))
share, = both["k_against_m"]
assert abs(share["k_percent_of_m"] - 100 * other["frame_us"] / m["frame_us"]) < 1e-9
assert k["presets"] == ["K"] and "k_against_m" not in k and k["runs"][0]["preset"] == "K"
X
# Times of another preset or network than asked for are refused, not mislabelled.
printf '#!/bin/sh\nexec "%s" "$@"\n' "$BIN/d4r-k" >not-m
chmod +x not-m
expect 1 "the profile is of K" python3 "$here/bench_frame.py" --network cpu --repeats 1 --d4r-m ./not-m model-k "$DATA/brick_pan"
$bench --preset K --k-model model-k model-k "$DATA/brick_pan" >log 2>&1 && fail "--preset K with --k-model"
grep -q "MODEL of preset M" log || fail "no reason why --k-model does not go with --preset K"
finish
