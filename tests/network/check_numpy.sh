#!/bin/sh
# check_numpy.sh NET_DUMP NETWORK_REF.PY: the NumPy truth against the C truth on the same tensors, layer by layer.
# Skipped (77) without python3 or NumPy.
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
"$1" "$folder" 48 32 11
"$python" "$2" "$folder/weights.safetensors" --check "$folder"
# The whole network in one go must give the same head: the layers' order and skips.
"$python" "$2" "$folder/weights.safetensors" "$folder/tokens.npy" "$folder/all"
"$python" - "$folder" <<'PYTHON'
import sys
import numpy as np
a, b = (np.load(f"{sys.argv[1]}/{name}/dec1.npy") for name in (".", "all"))
same = float(np.mean(a == b))
print(f"whole network: {100 * same:.3f} % of the head's codes identical")
sys.exit(0 if same > 0.99 else 1)
PYTHON
