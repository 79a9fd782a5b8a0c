"""Preset K's native stages and the blocks' backward pass against plain PyTorch in double precision: values and gradients."""
import os
import sys

import numpy as np
import torch

import export
import k_native
import k_network
import k_stages_torch as reference
import native
from network import activation
from test_stages import compare

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reference"))
import k_network_ref  # noqa: E402


def random_frame(geometry, batch, generator):
    g, r = geometry, lambda *s: torch.rand(*s, dtype=torch.float64, generator=generator)
    params = torch.zeros(batch, native.PARAM_COUNT, dtype=torch.float64)
    params[:, :4] = r(batch, 4) - 0.5
    params[:, native.E1], params[:, native.E2] = 0.5 + r(batch), 0.5 + r(batch)
    params[:, native.HISTORY] = torch.tensor([1.0] * (batch - 1) + [0.0])
    own = (r(batch, 2, g.h, g.w) - 0.5) * 12
    near = torch.where(r(batch, 1, g.h, g.w) < 0.5, own, (r(batch, 2, g.h, g.w) - 0.5) * 12)
    span = torch.sort(r(batch, 2, g.h, g.w), 1)[0].contiguous()
    history = torch.cat([r(batch, 3, g.oh, g.ow) * 1.5, r(batch, 1, g.oh, g.ow) * 60 + 1], 1)
    recurrent, head = r(batch * g.gw * g.gh, 8) * 2 - 1, (r(batch * g.gw * g.gh, 40) - 0.5) * 6
    head[:, 5:32:8] *= 4  # so that some of the shares are outside of 1/255 .. 254/255
    return r(batch, 3, g.h, g.w) * 1.5, near.contiguous(), own.contiguous(), span, history, recurrent, head, params


def gaussians(generator):
    return k_network.gaussians(k_network.initial_gaussians().double() + 0.1 * torch.randn(16, 3, dtype=torch.float64, generator=generator)).detach()


def stages(shape, generator):
    ok, g = True, k_native.Geometry(*shape, round_half=False)
    color, near, own, span, history, recurrent, head, params = random_frame(g, 3, generator)
    kernels = gaussians(generator)
    for t in (history, recurrent, head, kernels):
        t.requires_grad_()
    ours, theirs = (f(g, color, near, own, span, history, recurrent, params) for f in (k_native.Features.apply, reference.features))
    seed = torch.rand(theirs.shape, dtype=torch.float64, generator=generator) - 0.5
    ok &= compare("K features %s" % (shape,), ours, theirs)
    for name, a, b in zip(("history", "recurrent"), *(torch.autograd.grad(t, [history, recurrent], seed) for t in (ours, theirs))):
        ok &= compare("  to " + name, a, b)
    args = (color, head, near, own, history, kernels, None, params)
    ours, theirs = k_native.Reconstruct.apply(g, *args), reference.reconstruct(g, *args)
    seeds = [torch.rand(t.shape, dtype=torch.float64, generator=generator) - 0.5 for t in theirs]
    for name, a, b in zip(("history", "shown"), ours, theirs):
        ok &= compare("K reconstruction, " + name, a, b)
    for name, a, b in zip(("head", "history", "Gaussians"), *(torch.autograd.grad(t, [head, history, kernels], seeds) for t in (ours, theirs))):
        ok &= compare("  to " + name, a, b)
    return ok


def plain_block(x, qkv_weight, qkv_bias, table, proj, mlp1, mlp1_bias, mlp2, place):
    norm = lambda t: t * torch.rsqrt(t.square().mean(-1, keepdim=True) + 1e-5)
    c = x.shape[1]
    qkv = norm(x) @ qkv_weight.t() + torch.cat([qkv_bias[:2 * c], torch.zeros(c, dtype=x.dtype)])
    y = x + k_network.attention_torch(qkv, table, qkv_bias[2 * c:], *place) @ proj.t()
    return y + activation(norm(y) @ mlp1.t() + mlp1_bias) @ mlp2.t()


def block_case(generator, c, grid, level, shift, batch=2):
    """Arguments of a block in double precision."""
    r = lambda *s: torch.randn(*s, dtype=torch.float64, generator=generator)
    h, heads, tokens = 2 * c, c // 32, (grid[0] >> level) * (grid[1] >> level)
    tensors = [r(batch * tokens, c), r(3 * c, c) / c ** 0.5, 0.3 * r(3 * c), 0.5 * r(heads, 64, 64), r(c, c) / c ** 0.5, r(h, c) / c ** 0.5, 0.3 * r(h),
               r(c, h) / h ** 0.5]
    tensors[2][c:2 * c] = 0
    return tensors, (grid, level, shift)


def blocks(generator):
    ok = True
    for c, grid, level, shift in ((32, (32, 64), 0, 4), (64, (32, 32), 1, 0), (64, (64, 32), 4, 6), (32, (32, 32), 5, 5)):
        tensors, place = block_case(generator, c, grid, level, shift)
        for t in tensors:
            t.requires_grad_()
        ours, theirs = k_network.Block.apply(*tensors, place), plain_block(*tensors, place)
        seed = torch.rand(theirs.shape, dtype=torch.float64, generator=generator) - 0.5
        ok &= compare("K block, C %d, level %d, shift %d" % (c, level, shift), ours, theirs)
        for i, (a, b) in enumerate(zip(*(torch.autograd.grad(t, tensors, seed) for t in (ours, theirs)))):
            if i == 2:
                a[c:2 * c], b[c:2 * c] = 0, 0  # a key's bias changes nothing: both are rounding
            ok &= compare("  to argument %d" % i, a, b)
    return ok


def network(generator):
    """The exported tensors through the double precision reference; f16 values of the same layers."""
    ok, grid = True, (64, 32)
    parameters = k_network.Parameters.initial(7)
    parameters.vectors += 0.1 * torch.randn(parameters.vectors.shape, generator=generator)
    tensors = {name: a.astype(np.float64) for name, (_, a) in export.k_tensors(parameters).items()}
    tokens = torch.randn(grid[1], grid[0], 32, generator=generator).half()
    order = k_network.token_index(*torch.meshgrid(torch.arange(grid[0]), torch.arange(grid[1]), indexing="xy"), grid, 0).reshape(-1)
    for phase in (0, 3):
        theirs = k_network_ref.run(k_network_ref.Weights(tensors), tokens.numpy(), phase)["dec0"].reshape(-1, 40)
        with torch.no_grad():
            flat = torch.empty(len(order), 32).index_copy(0, order, tokens.float().view(-1, 32))
            ours = k_network.network(flat, k_network.Weights(parameters, torch.float32), grid, phase)[order].numpy()
        error = np.sqrt(np.mean((ours - theirs) ** 2) / np.mean(theirs ** 2))
        print("K network, phase %d: %.1f %% of the values equal, rms error %.1e" % (phase, 100 * np.mean(ours == theirs), error))
        ok &= error < 2e-3  # f32 sums round to another f16 value now and then, eleven layers deep
    return ok


def outside(generator):
    """Tokens outside the output are zeros: a first step must not be theirs (norms of tiny tokens multiply gradients)."""
    grid, start, sizes = (64, 64), k_network.Parameters.initial(0), []
    order = k_network.token_index(*torch.meshgrid(torch.arange(64), torch.arange(64), indexing="xy"), grid, 0)
    tokens = torch.rand(64 * 64, 32, dtype=torch.float64, generator=generator)
    seed = torch.rand(64 * 64, 40, dtype=torch.float64, generator=generator) - 0.5
    for rows, columns in ((64, 64), (22, 40)):
        here = torch.zeros(64 * 64, 1, dtype=torch.float64).index_fill(0, order[:rows, :columns].reshape(-1), 1.0)
        flat = [t.double().requires_grad_() for t in (start.matrices, start.vectors)]
        weights = k_network.Weights(k_network.Parameters(*flat), torch.float64)
        head = k_network.network(tokens * here, weights, grid, 0)
        sizes.append([g.norm().item() for g in torch.autograd.grad((head * seed * here).sum() / here.sum(), flat)])
    print("K gradients, all of the grid inside: %.3f %.3f; a fifth of it: %.3f %.3f" % (*sizes[0], *sizes[1]))
    return all(b < 10 * a for a, b in zip(*sizes))


def main():
    generator = torch.Generator().manual_seed(1)
    ok = True
    for shape in ((32, 28, 64, 56), (43, 40, 130, 119), (50, 41, 64, 64)):
        ok &= stages(shape, generator)
    return 0 if ok & blocks(generator) & network(generator) & outside(generator) else 1


if __name__ == "__main__":
    sys.exit(main())
