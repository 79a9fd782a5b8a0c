"""Native stages against plain PyTorch in double precision: values and gradients."""
import sys

import torch

import native
import network
import stages_torch as reference

TOLERANCE = 1e-9  # both sides are double; sums differ in order only


def random_frame(geometry, batch, generator):
    g, r = geometry, lambda *s: torch.rand(*s, dtype=torch.float64, generator=generator)
    params = torch.zeros(batch, native.PARAM_COUNT, dtype=torch.float64)
    params[:, :4] = r(batch, 4) - 0.5
    params[:, native.E1], params[:, native.E2] = 0.5 + r(batch), 0.5 + r(batch)
    params[:, native.HISTORY] = torch.tensor([1.0] * (batch - 1) + [0.0])
    motion = [(r(batch, 2, g.h, g.w) - 0.5) * 8 for _ in range(4)]
    color, tile = r(batch, 3, g.h, g.w) * 1.5, r(batch, 9, g.h, g.w)
    tile[:, :3] /= tile[:, :3].sum(1, keepdim=True)
    tile[:, 6:8] = tile[:, 6:8] * 12 + 0.5
    tile[:, 8] = (tile[:, 8] - 0.5) * (tile[:, 6] * tile[:, 7]).sqrt()
    history, half = r(batch, 3, g.rh, g.rw) * 1.5, r(batch, 3, g.hh, g.hw) * 1.5
    feature = r(batch, 4, g.h, g.w) * 2 - 1
    return color, tile, motion, history, half, feature, params


def compare(name, ours, theirs):
    worst = (ours - theirs).abs().max().item() / max(1.0, theirs.abs().max().item())
    print("%-28s %.2e" % (name, worst))
    return worst < TOLERANCE


def gradients(outputs, inputs, seeds):
    return torch.autograd.grad(outputs, inputs, seeds)


def main():
    ok, generator = True, torch.Generator().manual_seed(1)
    for shape in ((12, 10, 24, 20), (13, 9, 17, 21), (16, 16, 48, 48)):
        g = native.Geometry(*shape, dither=False, round_half=False)
        color, tile, motion, history, half, feature, params = random_frame(g, 3, generator)
        for t in (tile, history, half, feature):
            t.requires_grad_()
        seed = lambda t: torch.rand(t.shape, dtype=t.dtype, generator=generator) - 0.5
        ours = native.Features.apply(g, color, *motion[:3], half, feature, motion[3], params)
        theirs = reference.features(g, color, *motion[:3], half, feature, motion[3], params)
        seeds = [seed(t) for t in theirs]
        ok &= compare("features %s" % (shape,), ours[0], theirs[0])
        ours, theirs = (gradients(t, [half, feature], seeds) for t in (ours, theirs))
        ok &= compare("  to half image", ours[0], theirs[0]) & compare("  to recurrent feature", ours[1], theirs[1])
        ours = native.Reconstruct.apply(g, color, tile, *motion[:3], history, params)
        theirs = reference.reconstruct(g, color, tile, *motion[:3], history, params)
        seeds = [seed(t) for t in theirs]
        for name, a, b in zip(("history", "display", "half"), ours, theirs):
            ok &= compare("reconstruct " + name, a, b)
        ours, theirs = (gradients(t, [tile, history], seeds) for t in (ours, theirs))
        ok &= compare("  to tile", ours[0], theirs[0]) & compare("  to history", ours[1], theirs[1])
        ours, theirs = native.downsample(g, history), reference.downsample(g, history)
        seeds = [seed(theirs)]
        ok &= compare("downsample", ours, theirs)
        ok &= compare("  to image", gradients([ours], [history], seeds)[0], gradients([theirs], [history], seeds)[0])
    for shift, heads in ((2, 2), (0, 3)):
        qkv = torch.randn(2, 8, 12, 96 * heads, dtype=torch.float64, generator=generator, requires_grad=True)
        bias = torch.randn(heads, 16, 16, dtype=torch.float64, generator=generator, requires_grad=True)
        rounding, network.fp8 = network.fp8, lambda x: x
        ours, theirs = native.Attention.apply(qkv, bias, shift, True), network.attention_torch(qkv, bias, shift)
        network.fp8 = rounding
        seeds = [torch.rand(theirs.shape, dtype=torch.float64, generator=generator) - 0.5]
        ok &= compare("attention, shift %d" % shift, ours, theirs)
        for name, a, b in zip(("  to q, k, v", "  to bias"), *(gradients([t], [qkv, bias], seeds) for t in (ours, theirs))):
            ok &= compare(name, a, b)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
