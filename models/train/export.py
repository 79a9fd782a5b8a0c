"""Checkpoint -> weights.safetensors (names and shapes: models/format/m_layout.h, k_layout.h), for `d4r-model pack`. Preset K's
tables of reconstruction weights go to lut.bin beside it."""
import argparse
import json
import os
import struct

import numpy as np
import torch

import k_network
import k_pipeline
import network
from presets import PRESETS

SLOTS = 32


def fp8_codes(values):
    """E4M3 codes of float32 values that are on the grid."""
    a = np.abs(values.astype(np.float32))
    bits = a.view(np.uint32)
    codes = np.where(a < 2.0 ** -6, np.round(a * 512.0).astype(np.uint32), (bits >> 20) - 960)
    codes = codes | np.where(values < 0, 128, 0).astype(np.uint32)
    assert codes.max() < 255 and not np.any((codes & 127) == 127)
    return codes.astype(np.uint8)


def decode(codes):
    m = (codes & 127).astype(np.uint32)
    a = np.where(m < 8, m.astype(np.float32) / 512.0, ((m << 20) + (120 << 23)).astype(np.uint32).view(np.float32))
    return np.where(codes & 128, -a, a)


def tensors(parameters):
    """name -> (dtype, array) in the order of evaluation"""
    named, out = parameters.named(), {}
    for name in network.matrix_shapes():
        w = named[name].detach().cpu().numpy()
        if name == "input.embed":
            padded = np.zeros((w.shape[0], 4, SLOTS), np.float32)
            padded[:, :, :network.FEATURES] = w.reshape(-1, 4, network.FEATURES)
            w = padded.reshape(w.shape[0], 4 * SLOTS)
        codes = fp8_codes(w)
        assert np.array_equal(decode(codes), w)
        out[name + ".weight"] = ("F8_E4M3", codes)
        out[name + ".bias"] = ("F32", named[name + ".bias"].detach().cpu().numpy().astype("<f4"))
        if name.endswith(".qkv"):
            rel = name[:-4] + ".rel_bias"
            out[rel] = ("F32", named[rel].detach().cpu().numpy().astype("<f4"))
    return out


def k_tensors(parameters):
    """name -> (dtype, array) in the order of evaluation"""
    named, out, row = parameters.named(), {}, 0
    value = lambda name, kind: named[name].detach().cpu().numpy().astype(kind)
    for name in k_network.matrix_shapes():
        out[name + ".weight"] = ("F16", value(name, "<f2"))
        if name.endswith(".qkv"):
            layer, c = name[:-4], named[name].shape[1]
            bias = value(name + ".bias", "<f4")
            out[layer + ".qv.bias"] = ("F32", np.concatenate([bias[:c], bias[2 * c:]]))
            out[layer + ".rel_bias"] = ("F32", value("rel_bias", "<f4")[row:row + c // k_network.HEAD_WIDTH])
            row += c // k_network.HEAD_WIDTH
        elif name + ".bias" in named:
            out[name + ".bias"] = ("F32", value(name + ".bias", "<f4"))
    return out


def k_table_bytes(parameters):
    """lut.bin: [16 tables][64 phases][16 shapes][16 taps] f16"""
    values = k_network.gaussians(parameters.named()["gaussians"])
    return k_pipeline.tables(values).numpy().astype("<f2").tobytes()


def write_safetensors(path, named, metadata):
    header, offset = {"__metadata__": metadata}, 0
    for name, (dtype, data) in named.items():
        header[name] = {"dtype": dtype, "shape": list(data.shape), "data_offsets": [offset, offset + data.nbytes]}
        offset += data.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path + ".tmp", "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for _, data in named.values():
            f.write(np.ascontiguousarray(data).tobytes())
    os.rename(path + ".tmp", path)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("checkpoint")
    p.add_argument("out")
    a = p.parse_args()
    data = torch.load(a.checkpoint, map_location="cpu")
    preset = data["args"].get("preset", "m")
    parameters = PRESETS[preset].Parameters(*[t.float() for t in data["average"]])
    named = tensors(parameters) if preset == "m" else k_tensors(parameters)
    write_safetensors(a.out, named, {"preset": preset, "steps": str(data["step"]), "seed": str(data["args"]["seed"])})
    if preset == "k":
        path = os.path.join(os.path.dirname(a.out), "lut.bin")
        with open(path + ".tmp", "wb") as f:
            f.write(k_table_bytes(parameters))
        os.rename(path + ".tmp", path)
    print("%s: %d tensors, %d bytes" % (a.out, len(named), os.path.getsize(a.out)))


if __name__ == "__main__":
    main()
