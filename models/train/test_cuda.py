"""On a machine with a GPU: the CUDA build of the stages and of the generator against the CPU build."""
import sys

import numpy as np
import torch

import metrics
import native
from test_stages import random_frame


def gradients(outputs, inputs):
    g = torch.Generator().manual_seed(5)
    seeds = [(torch.rand(t.shape, dtype=torch.float64, generator=g) - 0.5).to(t.dtype).to(t.device) for t in outputs]
    return torch.autograd.grad(outputs, inputs, seeds)


def run(geometry, tensors, convert):
    color, tile, motion, history, half, feature, params = tensors
    color, params = convert(color), convert(params)
    motion = [convert(m) for m in motion]
    tile, history, half, feature = (convert(t).requires_grad_() for t in (tile, history, half, feature))
    a = native.Features.apply(geometry, color, *motion[:3], half, feature, motion[3], params)
    b = native.Reconstruct.apply(geometry, color, tile, *motion[:3], history, params)
    c = native.downsample(geometry, history)
    results = list(a) + list(b) + [c] + list(gradients(a, [half, feature])) + list(gradients(b, [tile, history])) + list(gradients([c], [history]))
    return [t.detach().double().cpu() for t in results]


def main():
    geometry, generator = native.Geometry(32, 32, 64, 60, dither=False, round_half=False), torch.Generator().manual_seed(1)
    tensors = random_frame(geometry, 3, generator)
    truth = run(geometry, tensors, lambda t: t.double())
    ours = run(geometry, tensors, lambda t: t.float().cuda())
    ok = True
    for i, (a, b) in enumerate(zip(ours, truth)):
        error = ((a - b).square().sum() / b.square().sum()).sqrt().item()
        print("stage result %d: relative error %.1e" % (i, error))
        ok &= error < 2e-3  # fast maths on one side; a position that rounds across a texel border costs about 1e-4
    for shift, heads in ((2, 2), (0, 4)):
        qkv, bias = torch.randn(3, 16, 12, 96 * heads, generator=generator).bfloat16(), torch.randn(heads, 16, 16, generator=generator)
        seed = torch.rand(3, 16, 12, 32 * heads, generator=generator) - 0.5
        pair = []
        for q, b in ((qkv.float(), bias), (qkv.cuda(), bias.cuda())):
            q, b = q.requires_grad_(), b.requires_grad_()
            o = native.Attention.apply(q, b, shift, True)
            pair.append([t.detach().float().cpu() for t in (o, *torch.autograd.grad(o, [q, b], seed.to(o.device, o.dtype)))])
        for i, (b, a) in enumerate(zip(*pair)):
            error = ((a - b).square().sum() / b.square().sum()).sqrt().item()
            print("attention shift %d result %d: relative error %.1e" % (shift, i, error))
            ok &= error < 1e-2  # bfloat16 in and out
    g = native.Geometry(64, 64, 128, 128)
    images = []
    for device in ("cpu", "cuda"):
        gen = native.Generator(device)
        host, views = np.zeros((11, gen.scene_bytes), np.uint8), np.zeros(11, native.VIEW)
        for i in range(11):
            gen.build(77 + i, i, native.CAMERA, 64, 64, host[i])
            views[i]["scene"], views[i]["time"], views[i]["previous"] = i, 3, 2
        images.append([t.cpu() for t in gen.render(torch.from_numpy(host).to(device), views, g)])
    for i, name in enumerate(("color", "depth", "motion", "reference")):
        a, b = images[0][i], images[1][i]
        same = ((a - b).abs() <= 1e-3 + 1e-2 * b.abs()).float().mean().item()
        print("generator %s: %.4f of the values agree" % (name, same))
        ok &= same > 0.98
    print("reference PSNR cpu/cuda", metrics.psnr(metrics.display(images[0][3]), metrics.display(images[1][3])).min().item())
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
