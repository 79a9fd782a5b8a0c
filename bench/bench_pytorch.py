#!/usr/bin/env python3
"""Preset M's network in PyTorch, f16, eager and torch.compile, against the runtime's kernels in the same run.

    bench_pytorch.py MODEL [--size 1920x1080]... [--d4r-net PATH] [--ours bench_net_gpu.json] [--json FILE]

The same weights (MODEL/weights.safetensors), the same random tokens. What is timed computes in f16 without rounding to
FP8, which is what a network written in PyTorch would do; the roundings are put in only to compare codes with the
runtime's (--d4r-net: a d4r-net that runs on this GPU). Times are medians of CUDA graph replays, so that launches from
Python do not count; eager is also given without a graph. --ours takes the kernels' times from bench_net_gpu's report.
"""
import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "models", "reference"))
import network_ref  # noqa: E402  (the reader of safetensors, and the table of layers)

FP8 = torch.float8_e4m3fn


class Network:
    def __init__(self, tensors, rounded, kind, device):
        """rounded: FP8 at the points of docs/network.md."""
        self.rounded, self.kind = rounded, kind
        self.tensors = {n: torch.from_numpy(t).to(device).to(kind if t.ndim == 2 and ".weight" in n else torch.float32)
                        for n, t in tensors.items()}
        token = torch.arange(16, device=device)
        y, x = token // 4, token % 4
        # [query][key]: the offset is key - query
        offset = 7 * (y[None, :] - y[:, None] + 3) + (x[None, :] - x[:, None] + 3)
        self.relative = {n[:-9]: t[:, offset] for n, t in self.tensors.items() if n.endswith(".rel_bias")}

    def fp8(self, x):
        return x.clamp(-448, 448).to(FP8).to(self.kind) if self.rounded else x.to(self.kind)

    def linear(self, name, x):
        bias = self.tensors[name + ".bias"]
        if self.kind == torch.float32:
            return F.linear(x, self.tensors[name + ".weight"], bias)
        return F.linear(x, self.tensors[name + ".weight"], bias.to(self.kind))

    def norm(self, x):
        f = x.float()
        return self.fp8(f * torch.rsqrt((f * f).mean(-1, keepdim=True) + 1e-5))

    def attention(self, name, n, inside):
        """n [windows, 16, C]"""
        heads = n.shape[-1] // 32
        q, k, v = self.fp8(self.linear(name + ".qkv", n)).view(-1, 16, 3, heads, 32).permute(2, 0, 3, 1, 4)
        score = (q @ k.transpose(-1, -2)).float() * 32**-0.5 + self.relative[name]
        if inside is not None:
            score = score.masked_fill(~inside[:, None, None, :], float("-inf"))
        if not self.rounded:
            return (torch.softmax(score, -1).to(self.kind) @ v).transpose(1, 2).reshape(n.shape)
        p = 256 * torch.exp(score - score.amax(-1, keepdim=True))
        return self.fp8(self.fp8(p) @ v / p.sum(-1, keepdim=True)).transpose(1, 2).reshape(n.shape)

    def block(self, name, x, shift):
        """x [rows, columns, C]"""
        rows, columns, c = x.shape
        inside = None
        if shift:
            x = F.pad(x, (0, 0, 2, 2, 2, 2))
            row = torch.arange(x.shape[0], device=x.device)[:, None, None]
            column = torch.arange(x.shape[1], device=x.device)[None, :, None]
            inside = (row >= 2) & (row < rows + 2) & (column >= 2) & (column < columns + 2)
            inside = windows(inside)[..., 0]
        w = windows(x)
        w = w + self.linear(name + ".proj", self.attention(name, self.norm(w), inside))
        y = self.linear(name + ".mlp1", self.norm(w))
        clamped = y.clamp(-2.4, 2.4)
        u = self.fp8(y * (0.5 + clamped * (0.412 - 0.081 * clamped.abs())))
        w = w + self.linear(name + ".mlp2", u)
        x = w.view(x.shape[0] // 4, x.shape[1] // 4, 4, 4, c).transpose(1, 2).reshape(x.shape)
        return x[2:-2, 2:-2] if shift else x

    def merge(self, name, x):
        rows, columns, c = x.shape
        f = x.view(rows // 2, 2, columns // 2, 2, c).transpose(1, 2).reshape(rows // 2, columns // 2, 4 * c)
        return self.fp8(self.linear(name, f))

    def expand(self, name, x, skip):
        rows, columns, _ = x.shape
        y = self.fp8(self.linear(name, self.fp8(x))).view(rows, columns, 2, 2, -1).transpose(1, 2)
        return self.fp8(y.reshape(2 * rows, 2 * columns, -1) + skip)

    def __call__(self, tokens):
        outputs = {"tokens": tokens}
        for name, _, _, shift, merged, expanded, source, skip in network_ref.LAYERS:
            x = outputs[source]
            if merged:
                x = self.merge(merged, x)
            x = self.fp8(self.block(name, x, shift))
            outputs[name] = self.expand(expanded, x, outputs[skip]) if expanded else x
        return outputs["dec1"]


def windows(x):
    rows, columns, c = x.shape
    return x.view(rows // 4, 4, columns // 4, 4, c).transpose(1, 2).reshape(-1, 16, c)


def median_us(run, repeats=30):
    times = []
    for _ in range(repeats + 3):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        run()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1e3)
    return statistics.median(times[3:])


def graphed(function, argument):
    for _ in range(3):
        function(argument)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = function(argument)
    return graph, result


def large_product_tflops():
    a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.float16) for _ in range(2))
    return 2 * 8192**3 / median_us(lambda: a @ b, 10) / 1e6


def compare(tensors, codes, tokens, program, model, head):
    """Percent of the runtime's codes that the f32 network with FP8 roundings gives; error of the f16 network."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = os.path.join(folder, "tokens.npy"), os.path.join(folder, "head.npy")
        np.save(source, codes)
        subprocess.run([program, model, "--network", "hip", "--hip-platform", "nvidia", "--in", source, "--out", target, "-q"],
                       check=True)
        ours = torch.from_numpy(np.load(target)).cuda()
    with torch.no_grad():
        exact = Network(tensors, True, torch.float32, "cuda")(tokens.float()).to(FP8).view(torch.uint8)
    truth = ours.view(FP8).float()
    error = (head.float() - truth).pow(2).mean().sqrt() / truth.pow(2).mean().sqrt()
    return {"same_percent": 100 * (exact == ours).float().mean().item(), "f16_relative_error": error.item()}


def measure(tensors, model, size, options):
    width, height = (int(n) for n in size.split("x"))
    columns, rows = (width + 31) // 32 * 16, (height + 31) // 32 * 16
    torch.manual_seed(1)
    tokens = (1.5 * torch.randn(rows, columns, 64, device="cuda")).clamp(-6.28, 6.28).to(FP8)
    codes = tokens.view(torch.uint8).cpu().numpy()
    tokens = tokens.to(torch.float16)
    network = Network(tensors, False, torch.float16, "cuda")
    result = {"render": [width, height]}
    with torch.no_grad():
        result["eager_us"] = median_us(lambda: network(tokens))
        graph, head = graphed(network, tokens)
        result["eager_graph_us"] = median_us(graph.replay)
        if options.d4r_net:
            graph.replay()
            result["compared"] = compare(tensors, codes, tokens, options.d4r_net, model, head)
        del graph
        compiled, _ = graphed(torch.compile(lambda t: network(t), dynamic=False), tokens)
        result["compiled_us"] = median_us(compiled.replay)
    return result


def add_ours(results, path):
    with open(path) as file:
        ours = {tuple(s["render"]): s["median_us"] for s in json.load(file)["sizes"]}
    for result in results:
        us = ours.get(tuple(result["render"]))
        if us:
            result["ours_us"] = us
            result["times_faster_than_compiled"] = result["compiled_us"] / us


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--size", action="append")
    parser.add_argument("--d4r-net")
    parser.add_argument("--ours")
    parser.add_argument("--json")
    options = parser.parse_args()
    tensors = network_ref.read_safetensors(os.path.join(options.model, "weights.safetensors"))
    tensors = {n: network_ref.rounded(t) if n.endswith(".weight") else t for n, t in tensors.items()}
    results = [measure(tensors, options.model, size, options) for size in options.size or ["1920x1080"]]
    if options.ours:
        add_ours(results, options.ours)
    report = {"bench": "bench_pytorch", "device": torch.cuda.get_device_name(), "torch": torch.__version__,
              "date": datetime.date.today().isoformat(), "large_product_tflops": large_product_tflops(),
              "sizes": results}
    print(json.dumps(report, indent=2))
    if options.json:
        with open(options.json + ".tmp", "w") as file:
            json.dump(report, file, indent=2)
        os.replace(options.json + ".tmp", options.json)


if __name__ == "__main__":
    main()
