"""On a machine with a GPU: preset K's CUDA stages, blocks and whole frames against the CPU in double precision, values and gradients."""
import sys

import torch

import k_native
import k_network
import k_pipeline
import test_k

BATCH = 3


def error(ours, truth):
    ours, truth = ours.detach().double().cpu(), truth.detach()
    return ((ours - truth).square().sum() / truth.square().sum().clamp_min(1e-30)).sqrt().item()


def compare(name, ours, truth, tolerance):
    """NaN fails"""
    worst = error(ours, truth)
    print("%-36s relative error %.1e" % (name, worst), flush=True)
    return worst < tolerance


def seeds(outputs):
    g = torch.Generator().manual_seed(5)
    return [torch.rand(t.shape, dtype=torch.float64, generator=g) - 0.5 for t in outputs]


def stages(generator):
    g = k_native.Geometry(43, 40, 130, 119, round_half=False)
    frame, kernels = test_k.random_frame(g, BATCH, generator), test_k.gaussians(generator)
    table = k_pipeline.tables(kernels)[g.table].double()

    def run(convert):
        color, near, own, span, history, recurrent, head, params = (convert(t) for t in frame)
        gaussians, inputs = convert(kernels), None
        inputs = [t.requires_grad_() for t in (history, recurrent, head, gaussians)]
        features = k_native.Features.apply(g, color, near, own, span, history, recurrent, params)
        after, shown = k_native.Reconstruct.apply(g, color, head, near, own, history, gaussians, None, params)
        with torch.no_grad():
            with_table = k_native.Reconstruct.apply(g, color, head, near, own, history, gaussians, convert(table).contiguous(), params)[1]
        outputs = [features, after, shown]
        gradients = torch.autograd.grad(outputs, inputs, [s.to(t.device, t.dtype) for s, t in zip(seeds(outputs), outputs)])
        return [*outputs, with_table, *gradients]

    names = ("features", "history", "shown", "shown, from a table", "to history", "to recurrent", "to head", "to Gaussians")
    ok = True
    for name, a, b in zip(names, run(lambda t: t.float().cuda()), run(lambda t: t.double())):
        # fast maths on one side; a position that rounds across a texel border costs about 1e-4
        ok &= compare("stages: " + name, a, b, 2e-3)
    return ok


def blocks(generator):
    ok = True
    for c, grid, level, shift in ((32, (64, 64), 0, 4), (64, (32, 64), 1, 4), (64, (64, 32), 2, 0), (96, (64, 32), 3, 4), (128, (64, 64), 5, 5)):
        tensors, place = test_k.block_case(generator, c, grid, level, shift)
        tensors = [t if i == 3 else t.bfloat16().double() for i, t in enumerate(tensors)]
        truth = [t.clone().requires_grad_() for t in tensors]
        ours = [t.cuda().to(torch.float32 if i == 3 else torch.bfloat16).requires_grad_() for i, t in enumerate(tensors)]
        a, b = k_network.Block.apply(*ours, place), test_k.plain_block(*truth, place)
        g = seeds([b])[0].bfloat16()
        ok &= compare("block C %d level %d shift %d" % (c, level, shift), a, b, 2e-2)  # a few roundings to bfloat16 in a row
        for i, (u, v) in enumerate(zip(torch.autograd.grad(a, ours, g.cuda()), torch.autograd.grad(b, truth, g.double()))):
            if i == 2:
                u[c:2 * c], v[c:2 * c] = 0, 0
            ok &= compare("  to argument %d" % i, u, v, 4e-2)
    return ok


def frames(generator):
    """Two frames with the network between the stages: gradients of all parameters."""
    g, ok = k_native.Geometry(64, 58, 128, 116, round_half=False), True
    data, start = [test_k.random_frame(g, BATCH, generator) for _ in range(2)], k_network.Parameters.initial(3)

    def run(convert, kind):
        flat = [convert(t).requires_grad_() for t in (start.matrices, start.vectors)]
        weights = k_network.Weights(k_network.Parameters(*flat), kind)
        state, total = k_pipeline.State.__new__(k_pipeline.State), 0.0
        state.history, state.recurrent = convert(data[0][4]), convert(data[0][5])
        for t, (color, near, own, span, _, _, _, params) in enumerate(data):
            one = {"color": convert(color), "a": convert(near), "c": convert(own), "span": convert(span)}
            shown, state = k_pipeline.frame(g, weights, one, convert(params), state, 3 * t)
            total = total + shown.square().mean() + (state.history[:, 3] / 8).square().mean()
        return [shown, state.history, *torch.autograd.grad(total, flat)]

    for name, a, b in zip(("shown", "history", "to matrices", "to vectors"), run(lambda t: t.float().cuda(), torch.bfloat16), run(lambda t: t.double(), torch.float64)):
        # eleven layers in bfloat16, where the truth rounds nothing
        ok &= compare("two frames: " + name, a, b, 0.01 if name in ("shown", "history") else 0.05)
    return ok


def main():
    generator = torch.Generator().manual_seed(1)
    k_native.setup()
    ok = stages(generator) & blocks(generator) & frames(generator)
    print("CUDA agrees with the CPU" if ok else "CUDA DIFFERS FROM THE CPU")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
