"""PNG and SVG without a library, sheets of pictures, tables."""
import json
import os
import struct
import zlib

import numpy as np

COLORS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#7f7f7f")


def write_png(path, image):
    """image [h,w,3] in 0..1"""
    data = (np.clip(image, 0, 1) * 255 + 0.5).astype(np.uint8)
    h, w, _ = data.shape
    raw = np.concatenate([np.zeros((h, 1), np.uint8), data.reshape(h, 3 * w)], 1).tobytes()
    chunk = lambda kind, content: struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, 8, 2, 0, 0, 0)) +
                chunk(b"IDAT", zlib.compress(raw, 6)) + chunk(b"IEND", b""))


def grid(rows, gap=4):
    """Rows of equally large pictures with light lines between them."""
    pad = lambda image: np.pad(image, ((0, gap), (0, gap), (0, 0)), constant_values=1.0)
    return np.concatenate([np.concatenate([pad(image) for image in row], 1) for row in rows], 0)


def enlarged(image, times):
    return image.repeat(times, 0).repeat(times, 1)


def halved(image):
    h, w, _ = image.shape
    return image[:h // 2 * 2, :w // 2 * 2].reshape(h // 2, 2, w // 2, 2, 3).mean((1, 3))


def write_plot(path, title, curves, unit="PSNR, dB"):
    """curves: name -> [(x, y), ...]"""
    width, height, left, bottom = 640, 360, 50, 330
    points = [p for curve in curves.values() for p in curve if np.isfinite(p[1])]
    x0, x1 = min(p[0] for p in points), max(p[0] for p in points)
    y0, y1 = np.floor(min(p[1] for p in points)), np.ceil(max(p[1] for p in points))
    px = lambda x: left + (x - x0) / max(x1 - x0, 1) * (width - left - 10)
    py = lambda y: bottom - (y - y0) / max(y1 - y0, 1) * (bottom - 30)
    text = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">' % (width, height),
            '<rect width="100%" height="100%" fill="white"/>', '<text x="%d" y="18" font-size="13">%s: %s</text>' % (left, title, unit)]
    for k in range(6):
        x, y = x0 + (x1 - x0) * k / 5, y0 + (y1 - y0) * k / 5
        text.append('<path d="M%d %.1fH%d" stroke="#ddd"/><text x="8" y="%.1f">%.1f</text>' % (left, py(y), width - 10, py(y) + 4, y))
        text.append('<text x="%.1f" y="%d" text-anchor="middle">%d</text>' % (px(x), bottom + 16, round(x)))
    for k, (name, curve) in enumerate(curves.items()):
        line = " ".join("%.1f,%.1f" % (px(x), py(y)) for x, y in curve if np.isfinite(y))
        color = COLORS[k % len(COLORS)]
        text.append('<polyline points="%s" fill="none" stroke="%s" stroke-width="%.1f"/>' % (line, color, 2.5 if k == 0 else 1.2))
        text.append('<text x="%d" y="18" fill="%s">%s</text>' % (width - 75 * (len(curves) - k), color, name))
    with open(path, "w") as f:
        f.write("\n".join(text + ["</svg>", ""]))


def table(head, rows):
    """Markdown; floats must be text already."""
    line = lambda cells: "| " + " | ".join(str(c) for c in cells) + " |\n"
    return line(head) + "|" + "---|" * len(head) + "\n" + "".join(line(r) for r in rows)


def figures(mean):
    """PSNR / SSIM / tPSNR / FLIP of one source, as one cell."""
    tail = " / %.3f" % mean["flip"] if np.isfinite(mean["flip"]) else ""
    return "%.2f / %.4f / %.2f" % (mean["psnr"], mean["ssim"], mean["tpsnr"]) + tail


class Goals:
    """What must hold: a line each, with the value found and what was asked for."""

    def __init__(self):
        self.rows = []

    def add(self, what, value, limit, least=True, form="%.2f"):
        """value >= limit, or <= limit with least=False"""
        met = bool(value >= limit if least else value <= limit)
        self.rows.append({"what": what, "value": float(value), "limit": float(limit), "least": least, "met": met, "form": form})
        return met

    def failed(self):
        return [r for r in self.rows if not r["met"]]

    def markdown(self):
        cells = [(r["what"], r["form"] % r["value"], (">= " if r["least"] else "<= ") + r["form"] % r["limit"], "yes" if r["met"] else "**NO**")
                 for r in self.rows]
        return table(("goal", "found", "asked", "met"), cells)


def write_json(path, data):
    plain = lambda x: None if isinstance(x, float) and not np.isfinite(x) else x
    clean = lambda x: {k: clean(v) for k, v in x.items()} if isinstance(x, dict) else [clean(v) for v in x] if isinstance(x, (list, tuple)) else plain(x)
    with open(path + ".tmp", "w") as f:
        json.dump(clean(data), f, indent=1)
        f.write("\n")
    os.rename(path + ".tmp", path)
