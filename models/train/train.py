"""Trains a preset from scratch on procedural clips.

Every random choice follows from --seed and the step. A checkpoint restarts all clips and rounds the optimiser's state to
what it stores, in the run that writes it too: going on and resuming are the same computation.

Several GPUs: one process each, with --world N and --rank 0 .. N - 1. Each trains on clips of its own, and every --sync steps all
take the mean of their weights and moments (local SGD).
"""
import argparse
import json
import math
import os
import sys
import time

import numpy as np
import torch

import loss as losses
import native
import network
from clips import Clips
from presets import PRESETS

BETAS, DECAY, EMA = (0.9, 0.98), 0.02, 0.999


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--preset", choices=sorted(PRESETS), default="m")
    p.add_argument("--out", default="run", help="folder of checkpoint and log")
    p.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    p.add_argument("--batch", type=int, default=40)
    p.add_argument("--frames", type=int, default=8)
    p.add_argument("--size", type=int, help="side of a training crop: m's render, a multiple of 32 (96); k's output, a multiple of 128 (256)")
    p.add_argument("--rate", type=float, default=1.8e-3)
    p.add_argument("--warmup", type=int, default=150)
    p.add_argument("--total", type=int, default=20000, help="steps of the whole schedule")
    p.add_argument("--total-seconds", type=float, default=0.0, help="the schedule follows training time instead of steps")
    p.add_argument("--steps", type=int, default=10 ** 9, help="stop after this many steps in all")
    p.add_argument("--seconds", type=float, default=1e9, help="stop, with a checkpoint, after this much time in this process")
    p.add_argument("--save-every", type=float, default=1e9, help="seconds between checkpoints")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--geometries", type=int, default=1000, help="use the first N of the output sizes")
    p.add_argument("--eager", action="store_true", help="no torch.compile, no CUDA graph")
    p.add_argument("--no-resume", action="store_true")
    p.add_argument("--new-phase", action="store_true", help="start the schedule again from the checkpoint's weights; it ends with this process, or after --total-seconds")
    p.add_argument("--kernels", action="store_true", help="print the kernels that a step's time goes to")
    p.add_argument("--profile", action="store_true")
    p.add_argument("--world", type=int, default=1, help="processes that train together, one a GPU")
    p.add_argument("--still", type=float, default=0.25, help="share of clips in which nothing moves")
    p.add_argument("--rank", type=int, default=0)
    p.add_argument("--sync", type=int, default=4, help="steps between two exchanges of the processes")
    p.add_argument("--meet", default="tcp://127.0.0.1:29531", help="where the processes meet")
    a = p.parse_args()
    a.size = a.size or PRESETS[a.preset].size
    return a


class Optimiser:
    """AdamW on flat tensors, gradient clipped against its own running norm, averaged weights; capturable."""

    def __init__(self, parameters, device):
        self.values = [parameters.matrices, parameters.vectors]
        self.decay = [DECAY, 0.0]
        self.m, self.v = [torch.zeros_like(t) for t in self.values], [torch.zeros_like(t) for t in self.values]
        self.average = [t.clone() for t in self.values]
        scalar = lambda x: torch.tensor(float(x), device=device)
        self.step, self.rate, self.norm, self.usual = scalar(0), scalar(0), scalar(0), scalar(0)

    @torch.no_grad()
    def update(self, gradients):
        gradients = [torch.nan_to_num(g, 0.0, 0.0, 0.0) for g in gradients]
        norm = torch.sqrt(sum(g.square().sum() for g in gradients))
        self.step += 1
        early = self.step < 20
        scale = torch.where(early, 0.1 / norm.clamp_min(0.1), (2.0 * self.usual / norm.clamp_min(1e-12)).clamp_max(1.0))
        self.usual.copy_(torch.where(self.step < 2, norm, 0.98 * self.usual + 0.02 * torch.minimum(norm, torch.where(early, norm, 2 * self.usual))))
        self.norm.copy_(norm)
        c1, c2 = 1 - BETAS[0] ** self.step, 1 - BETAS[1] ** self.step
        blend = torch.minimum(torch.full_like(self.step, EMA), (1 + self.step) / (10 + self.step))
        for value, m, v, average, g, decay in zip(self.values, self.m, self.v, self.average, gradients, self.decay):
            g = g * scale
            m.mul_(BETAS[0]).add_(g, alpha=1 - BETAS[0])
            v.mul_(BETAS[1]).addcmul_(g, g, value=1 - BETAS[1])
            value.mul_(1 - self.rate * decay)
            value.sub_(self.rate * (m / c1) / (torch.sqrt(v / c2) + 1e-8))
            average.add_((value - average) * (1 - blend))

    def round_state(self):
        for t in self.m + self.v:
            t.copy_(t.bfloat16().float())


class Guard:
    """Goes back when the loss of a hundred steps leaps: two good states are kept, the older one is taken, the rate halves."""

    LEAP, SETTLED = 1.5, 300  # a hundred steps differ by some 15 % of themselves

    def __init__(self, optimiser):
        self.optimiser, self.best, self.states, self.slowed = optimiser, math.inf, [], 1.0

    def tensors(self):
        o = self.optimiser
        return o.values + o.average + o.m + o.v + [o.usual]

    def watch(self, steps, loss):
        """-> whether it went back"""
        if steps <= self.SETTLED:
            return False
        if not loss <= self.LEAP * self.best:
            if not self.states:
                return False
            for t, s in zip(self.tensors(), self.states[0]):
                t.copy_(s)
            self.states, self.slowed = self.states[:1], 0.5 * self.slowed
            return True
        self.best = min(self.best, loss)
        self.states = self.states[-1:] + [[t.clone() for t in self.tensors()]]
        return False


class Track:
    """One geometry: its clips, histories, static buffers, and the captured step."""

    def __init__(self, run, index, geometry, batch, share):
        self.run, self.index, self.graph = run, index, None
        self.geometry, self.batch, self.share = geometry, batch, share
        self.state = run.preset.State(geometry, batch, run.device)
        self.loss = torch.zeros((), device=run.device)
        self.data, self.ready = None, None

    def restart(self, step):
        a = self.run.args
        seed = [a.seed, self.index, step] + ([a.rank] if a.rank else [])
        self.clips = Clips(self.run.generator, self.geometry, self.batch, a.frames, seed, self.run.preset.surfaces, a.still)
        self.ready = None

    def prepare(self):
        """Makes the next batch, on the side stream of a GPU."""
        if not self.run.cuda:
            self.ready = (self.clips.next(), None)
            return
        with torch.cuda.stream(self.run.side):
            data = self.clips.next()
            event = torch.cuda.Event()
            event.record()
        self.ready = (data, event)

    def take(self):
        if self.ready is None:
            self.prepare()
        data, event = self.ready
        self.ready = None
        if event is not None:
            main = torch.cuda.current_stream()
            main.wait_event(event)
            for t in data.values():
                t.record_stream(main)
        if self.data is None:
            self.data = {k: t.clone() for k, t in data.items()}
        else:
            for k, t in data.items():
                self.data[k].copy_(t)

    def forward_backward(self):
        run, d = self.run, self.data
        flat = [t.detach().requires_grad_() for t in run.optimiser.values]
        frame = run.preset.stepper(run, self.geometry, flat)
        state, total = self.state.detached(True), 0.0
        # Frame 0 has no previous frame here: its temporal weight is 0, and leaves that need a gradient keep the
        # compiled functions to one variant.
        out_before = torch.zeros_like(d["reference"][0]).requires_grad_()
        for t in range(run.args.frames):
            out, history, state = frame(t, d, state)
            temporal = d["weights"][t, :, 1] * (1.0 if t else 0.0)
            total = total + run.frame_loss(out, history, d["reference"][t], out_before, d["reference"][max(t - 1, 0)],
                                           d["weights"][t, :, 0], temporal, d["params"][t, :, native.E1])
            out_before = out
        total = total / run.args.frames + sum(frame.cost)
        gradients = torch.autograd.grad(total, flat)
        self.state.copy_(state)
        self.loss.copy_(total.detach())
        run.optimiser.update(gradients)

    def capture(self):
        """Warm-up runs change weights: the caller restores them."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                self.forward_backward()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, pool=self.run.pool):
            self.forward_backward()
        if self.run.pool is None:
            self.run.pool = self.graph.pool()
        torch.cuda.synchronize()

    def step(self):
        self.take()
        if self.graph is not None:
            self.graph.replay()
        else:
            self.forward_backward()


class Run:
    def __init__(self, args):
        self.args, self.device, self.preset = args, torch.device(args.device), PRESETS[args.preset]
        self.cuda, self.pool = self.device.type == "cuda", None
        self.math_type = torch.bfloat16 if self.cuda else torch.float32
        self.generator = native.Generator(self.device)
        self.optimiser = Optimiser(self.preset.Parameters.initial(args.seed).to(self.device), self.device)
        self.side = torch.cuda.Stream() if self.cuda else None
        if self.cuda and not args.eager:
            self.pieces = network.Pieces(lambda f: torch.compile(f, dynamic=False))
            self.frame_loss = torch.compile(losses.frame_loss, dynamic=True)
        else:
            self.pieces, self.frame_loss = network.Pieces(), losses.frame_loss
        sizes = list(self.preset.tracks(args.size, args.batch))[:args.geometries]
        self.tracks = [Track(self, i, *size) for i, size in enumerate(sizes)]
        share = np.array([t.share for t in self.tracks])
        self.share = share / share.sum()
        self.step, self.seconds, self.resumed, self.log = 0, 0.0, 0.0, []
        self.past, self.first_step = [], 0  # earlier phases; where this one began
        self.guard = Guard(self.optimiser) if args.world == 1 else None

    # ---- checkpoints ----

    def path(self, name):
        return os.path.join(self.args.out, name)

    def save(self):
        o = self.optimiser
        o.round_state()
        if self.args.rank:
            self.restart_clips()
            return
        cpu = lambda ts, kind: [t.to(kind).cpu() for t in ts]
        data = {"values": cpu(o.values, torch.float32), "average": cpu(o.average, torch.float32),
                "m": cpu(o.m, torch.bfloat16), "v": cpu(o.v, torch.bfloat16),
                "scalars": [float(t) for t in (o.step, o.norm, o.usual)], "step": self.step, "seconds": self.seconds,
                "log": self.log, "args": vars(self.args), "past": self.past, "first_step": self.first_step}
        torch.save(data, self.path("checkpoint.tmp"))
        os.rename(self.path("checkpoint.tmp"), self.path("checkpoint.pt"))
        with open(self.path("log.json"), "w") as f:
            json.dump({k: data[k] for k in ("args", "step", "seconds", "past", "first_step", "log")}, f)
        self.restart_clips()

    def load(self):
        if self.args.no_resume or not os.path.exists(self.path("checkpoint.pt")):
            return
        data, o = torch.load(self.path("checkpoint.pt"), map_location="cpu"), self.optimiser
        if data["args"].get("preset", "m") != self.preset.name:
            raise SystemExit("%s is of preset %s" % (self.path("checkpoint.pt"), data["args"].get("preset", "m")))
        for name in ("values", "average", "m", "v"): # a slim checkpoint (slim.py) has no m and v: they stay zero
            for t, s in zip(getattr(o, name), data.get(name, [])):
                t.copy_(s.float())
        for t, s in zip((o.step, o.norm, o.usual), data["scalars"]):
            t.fill_(s)
        self.step, self.seconds, self.log = data["step"], data["seconds"], data["log"]
        self.past, self.first_step = data.get("past", []), data.get("first_step", 0)
        print("resumed at step %d" % self.step, flush=True)
        if self.args.new_phase:
            self.past.append({"step": self.step, "seconds": self.seconds, "args": data["args"]})
            self.seconds, self.first_step = 0.0, self.step

    def restart_clips(self):
        for t in self.tracks:
            t.restart(self.step)

    # ---- several processes ----

    def exchange(self, stop, save):
        """The mean of all processes' weights and moments, and rank 0's decisions."""
        if self.args.world == 1:
            return stop, save
        import torch.distributed as distributed
        o = self.optimiser
        tensors = o.values + o.average + o.m + o.v + [o.usual.view(1)]
        flags = torch.tensor([float(stop), float(save)], device=self.device) * (1.0 if self.args.rank == 0 else 0.0)
        flat = torch.cat([t.reshape(-1) for t in tensors] + [flags * self.args.world])
        distributed.all_reduce(flat)
        flat /= self.args.world
        for t, part in zip(tensors, flat.split([t.numel() for t in tensors] + [2])):
            t.copy_(part.view(t.shape))
        stop, save = flat[-2:].tolist()
        return stop > 0.5, save > 0.5

    # ---- the loop ----

    def choose(self, step):
        """The track of a step."""
        return self.tracks[int(np.random.default_rng([self.args.seed, 99, step]).choice(len(self.tracks), p=self.share))]

    def now(self):
        """Training time in all processes."""
        return self.seconds + (time.time() - self.resumed if self.resumed else 0.0)

    def rate(self):
        a = self.args
        steps = self.step - self.first_step
        done = min(self.now() / a.total_seconds if a.total_seconds else steps / a.total, 1.0)
        slowed = self.guard.slowed if self.guard else 1.0
        return slowed * a.rate * min(1.0, (steps + 1) / a.warmup) * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * done)))

    def capture(self):
        o = self.optimiser
        tensors = o.values + o.average + o.m + o.v + [o.step, o.norm, o.usual]
        kept = [t.clone() for t in tensors]
        o.rate.fill_(1e-6)
        # An oblong image first: the loss is compiled once, for free sizes.
        for t in sorted(self.tracks, key=lambda t: t.geometry.ow == t.geometry.oh):
            began = time.time()
            t.take()
            t.capture()
            t.restart(self.step)
            print("captured %dx%d in %.1f s, loss %.4f, memory %.1f GiB" % (
                t.geometry.ow, t.geometry.oh, time.time() - began, float(t.loss), torch.cuda.max_memory_reserved() / 2 ** 30), flush=True)
        if self.args.profile:
            profile(self)
        if self.args.kernels:
            try:
                kernels(self)
            except RuntimeError as error:  # a profiler that does not work must not cost the run
                print("no kernel times: %s" % error, flush=True)
        for t, s in zip(tensors, kept):
            t.copy_(s)
        torch.cuda.synchronize()

    def train(self, began):
        a, recent, saved = self.args, [], time.time()
        self.resumed, start_step, current, first = time.time(), self.step, None, time.time()
        if a.new_phase and not a.total_seconds:
            a.total_seconds = self.seconds + a.seconds - (first - began)
        last, stop = min(a.steps, a.total + self.first_step), False
        while self.step < last and not stop:
            track = current or self.choose(self.step)
            self.optimiser.rate.fill_(self.rate())
            track.step()
            recent.append(track.loss.clone())
            self.step += 1
            current = self.choose(self.step)
            if self.step < last:
                current.prepare()
            if self.cuda and len(recent) % 8 == 0:
                torch.cuda.current_stream().synchronize()  # the host runs at most eight steps ahead
            if self.step % 100 == 0 or self.step == a.steps:
                row = [self.step, round(self.now(), 2), float(torch.stack(recent).mean()), float(self.optimiser.norm), self.rate()]
                self.log.append(row)
                print("step %d, %.1f s, loss %.5f, gradient %.3f, rate %.2e" % tuple(row), flush=True)
                recent = []
                if self.guard and self.guard.watch(self.step - self.first_step, row[2]):
                    print("the loss leapt: back to an earlier state, at half the rate", flush=True)
                    self.restart_clips()
                    current = None
                elif not math.isfinite(row[2]):
                    raise SystemExit("the loss is not finite: stopped without a checkpoint")
            if (self.step - start_step) % (a.sync if a.world > 1 else 1):
                continue
            stop, save = self.exchange(time.time() - began > a.seconds, time.time() - saved > a.save_every)
            if save:
                self.seconds, saved = self.now(), time.time()
                self.resumed = saved
                self.save()
                current = None
        if self.cuda:
            torch.cuda.synchronize()
        self.seconds, self.resumed, spent = self.now(), 0.0, time.time() - first
        print("%d steps in %.1f s: %.2f a second" % (self.step - start_step, spent, (self.step - start_step) / max(spent, 1e-9)), flush=True)


def profile(run):
    """Where a step's time goes: generator alone, graph alone."""
    for t in run.tracks:
        t.take()
        times = []
        for work in (lambda: (t.prepare(), torch.cuda.synchronize()), lambda: (t.graph.replay(), torch.cuda.synchronize())):
            work()
            began = time.time()
            for _ in range(5):
                work()
            times.append((time.time() - began) / 5 * 1e3)
        began = time.time()
        for _ in range(5):
            t.clips.plan()
        times.append((time.time() - began) / 5 * 1e3)
        print("%dx%d: generator %.1f ms, step %.1f ms, host plan %.1f ms" % (t.geometry.ow, t.geometry.oh, *times), flush=True)


def kernels(run):
    """The kernels of one captured step, by time."""
    from torch.profiler import ProfilerActivity, profile as profiler
    track = max(run.tracks, key=lambda t: t.geometry.ow == 2 * t.geometry.w)
    with profiler(activities=[ProfilerActivity.CUDA]) as p:
        track.graph.replay()
        torch.cuda.synchronize()
    rows = [(getattr(e, "self_device_time_total", 0.0), e.count, e.key) for e in p.key_averages()]
    total = sum(r[0] for r in rows)
    print("kernels of a step: %.1f ms in %d launches" % (total / 1e3, sum(r[1] for r in rows)))
    for time_us, count, name in sorted(rows, reverse=True)[:40]:
        print("%8.0f us %6d  %s" % (time_us, count, name[:110]), flush=True)


def main():
    began, args = time.time(), arguments()
    if args.world > 1:
        import torch.distributed as distributed
        distributed.init_process_group("nccl" if args.device.startswith("cuda") else "gloo", init_method=args.meet,
                                       rank=args.rank, world_size=args.world)
    os.makedirs(args.out, exist_ok=True)
    run = Run(args)
    run.load()
    run.restart_clips()
    if run.cuda and not args.eager:
        run.capture()
    print("set up in %.1f s" % (time.time() - began), flush=True)
    run.restart_clips()
    run.train(began)
    run.save()
    return 0


if __name__ == "__main__":
    sys.exit(main())
