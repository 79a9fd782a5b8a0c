"""The training loss of one frame. Colours are compressed and exposed; weights are per sample."""
import torch

from metrics import display
from pipeline import expand


def per_sample(x):
    return x.flatten(1).mean(1)


def root(x):
    """Root of the mean square: the quantity behind PSNR."""
    return torch.sqrt(per_sample(x.square()) + 1e-6)


def frame_loss(out, history, reference, previous_out, previous_reference, color_weight, temporal_weight, exposure):
    """out, history: display image and history at output size; previous_*: compressed, of the frame before."""
    yo, yh, yr = display(expand(out)), display(expand(history)), display(expand(reference))
    e, eh = yo - yr, yh - yr
    # Also as the metrics see it, without the exposure: a dark scene with a few emitters is exposed down.
    scale = 1 / exposure.view(-1, 1, 1, 1)
    bare = display(expand(out) * scale) - display(expand(reference) * scale)
    loss = 0.5 * per_sample((out - reference).abs()) + 0.6 * per_sample(e.abs()) + 0.4 * root(e)
    loss = loss + 0.4 * per_sample(bare.abs()) + 0.3 * root(bare)
    loss = loss + 0.25 * (per_sample((e[..., 1:] - e[..., :-1]).abs()) + per_sample((e[..., 1:, :] - e[..., :-1, :]).abs()))
    loss = loss + 0.3 * (0.5 * per_sample((history - reference).abs()) + per_sample(eh.abs()) + 0.5 * root(eh))
    change = (yo - display(expand(previous_out))) - (yr - display(expand(previous_reference)))
    # Small: with 0.35 the still parts freeze after eight frames (tPSNR 60 dB) instead of going on to converge.
    temporal = 0.1 * per_sample(change.abs()) + 0.1 * root(change)
    return (color_weight * loss + temporal_weight * temporal).mean()
