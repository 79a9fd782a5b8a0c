"""PSNR, SSIM and tPSNR as the evaluation defines them: display(x) = sRGB(x / (1 + x)), peak 1."""
import torch
import torch.nn.functional as F


def srgb(y):
    return torch.where(y <= 0.0031308, 12.92 * y, 1.055 * y.clamp_min(0.0031308) ** (1 / 2.4) - 0.055)


def display(x):
    x = x.clamp_min(0.0)
    return srgb((x / (1 + x)).clamp(0, 1))


def psnr(a, b):
    """One figure an image of the batch."""
    return -10 * torch.log10((a - b).square().flatten(1).mean(1).clamp_min(1e-12))


def ssim(a, b):
    """11x11 Gaussian, sigma 1.5, valid region, on Rec.709 luma. [B,3,h,w] -> [B]"""
    weights = torch.tensor([0.2126, 0.7152, 0.0722], device=a.device).view(1, 3, 1, 1)
    a, b = (a * weights).sum(1, keepdim=True), (b * weights).sum(1, keepdim=True)
    x = torch.arange(11, device=a.device, dtype=torch.float32) - 5
    g = torch.exp(-x * x / 4.5)
    g = g / g.sum()
    blur = lambda t: F.conv2d(F.conv2d(t, g.view(1, 1, 1, 11)), g.view(1, 1, 11, 1))
    ma, mb = blur(a), blur(b)
    va, vb, cov = blur(a * a) - ma * ma, blur(b * b) - mb * mb, blur(a * b) - ma * mb
    s = (2 * ma * mb + 1e-4) * (2 * cov + 9e-4) / ((ma * ma + mb * mb + 1e-4) * (va + vb + 9e-4))
    return s.flatten(1).mean(1)


def summary(outputs, references, start):
    """Lists of [B,3,h,w] linear; references may hold None. -> mean PSNR, SSIM, tPSNR, a figure a sequence [B]"""
    rows, previous = [], None
    for k, (o, r) in enumerate(zip(outputs, references)):
        if r is None:
            previous = None
            continue
        o, r = display(o), display(r)
        if k >= start:
            t = psnr(o - previous[0], r - previous[1]) if previous is not None else torch.full_like(psnr(o, r), float("nan"))
            rows.append(torch.stack([psnr(o, r), ssim(o, r), t]))
        previous = (o, r)
    return torch.nanmean(torch.stack(rows), 0)
