#!/bin/sh
# check_k_numpy.sh K_DUMP K_NETWORK_REF.PY: the NumPy truth of preset K against the C truth on the same tensors, layer by
# layer, in an odd and an even phase, then the whole network. Skipped (77) without python3 or NumPy.
set -eu
python=
for candidate in python3 /usr/bin/python3; do
    if "$candidate" -c 'import numpy' 2>/dev/null; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    echo "skipped: no python3 with NumPy is installed"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for phase in 2 5; do
    "$1" "$folder" 64 96 $phase 11
    "$python" "$2" "$folder/weights.safetensors" --check $phase "$folder"
done
# The whole network in one go must give the same head but for a few roundings: the layers' order and skips.
"$python" "$2" "$folder/weights.safetensors" "$folder/tokens.npy" 5 "$folder/all"
"$python" - "$folder" <<'PYTHON'
import sys
import numpy as np
a, b = (np.load(f"{sys.argv[1]}/{name}/dec0.npy").astype(np.float64) for name in (".", "all"))
error = float(np.sqrt(np.mean((a - b) ** 2)) / np.sqrt(np.mean(a**2)))
print(f"whole network: {100 * np.mean(a == b):.3f} % of the head's values equal, relative error {error:.1e}")
sys.exit(0 if error < 1e-4 else 1)
PYTHON
