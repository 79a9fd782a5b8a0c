"""What the two presets differ in for training, validation and export: sizes, parameters, one frame of a step, deployment."""
import k_native
import k_network
import k_pipeline
import native
import network
import pipeline


class PresetM:
    name = "m"
    size = 96  # render side of a crop, a multiple of 32
    # output size for a square render of 96, and its share of the steps
    geometries = [((192, 192), 0.44), ((288, 288), 0.13), ((144, 144), 0.12), ((162, 162), 0.08), ((126, 126), 0.05),
                  ((192, 144), 0.05), ((228, 162), 0.05), ((240, 240), 0.08)]
    Parameters, State, Upscaler = network.Parameters, pipeline.State, pipeline.Upscaler
    surfaces = staticmethod(pipeline.surfaces)

    def tracks(self, size, batch):
        """Geometry, batch and share of the steps of every size."""
        k = size / 96
        for output, share in self.geometries:
            yield native.Geometry(size, size, int(output[0] * k), int(output[1] * k)), batch, share

    def deployed(self, width, height, out_width, out_height):
        return native.Geometry(width, height, out_width, out_height)

    def stepper(self, run, geometry, flat):
        """A function of a frame's index, data and state: display image and history at output size, next state."""
        weights = network.Weights(network.Parameters(*flat), run.math_type)
        predict = lambda f, r: network.predict(f, r, weights, run.pieces)

        def frame(t, data, state):
            motions = (data["a"][t], data["b"][t], data["c"][t])
            shown, state = pipeline.frame(geometry, predict, data["color"][t], motions, data["params"][t], state)
            return native.downsample(geometry, shown), native.downsample(geometry, state.history), state

        frame.cost = []  # further terms of the loss
        return frame


class PresetK:
    name = "k"
    size = 256  # output side of a crop, a multiple of 128
    # Output and ratio to render for that size, token grid where it is not the least, share of the steps. Large images, in smaller
    # batches, because a bottleneck window is 1024 pixels; tokens outside the output, because the runtime's grid is at
    # least 256x256.
    geometries = [((256, 256), (2, 2), None, 0.25), ((200, 232), (2, 2), None, 0.08), ((256, 256), (3, 3), None, 0.10),
                  ((256, 256), (1.5, 1.5), None, 0.08), ((256, 256), (1.69, 1.69), None, 0.05), ((256, 256), (1.31, 1.31), None, 0.04),
                  ((256, 256), (2, 1.5), None, 0.04), ((256, 256), (2.5, 2.5), None, 0.05), ((512, 512), (2, 2), None, 0.09),
                  ((512, 360), (3, 3), (128, 128), 0.06), ((640, 360), (2, 2), (256, 256), 0.06), ((1024, 720), (2, 2), (256, 256), 0.06),
                  ((1024, 1024), (1.5, 1.5), (256, 256), 0.04)]
    Parameters, State, Upscaler = k_network.Parameters, k_pipeline.State, k_pipeline.Upscaler
    surfaces = staticmethod(k_pipeline.surfaces)

    def tracks(self, size, batch):
        k, tokens = size / 256, (size // 4) ** 2
        for output, ratio, grid, share in self.geometries:
            ow, oh = (int(n * k) for n in output)
            grid = grid and tuple(int(n * k) for n in grid)
            g = k_native.Geometry(round(ow / ratio[0]), round(oh / ratio[1]), ow, oh, grid)
            yield g, max(1, batch * tokens // (g.gw * g.gh)), share

    def deployed(self, width, height, out_width, out_height):
        up = lambda n: max(256, -(-n // 128) * 32)
        return k_native.Geometry(width, height, out_width, out_height, (up(out_width), up(out_height)))

    def stepper(self, run, geometry, flat):
        assert run.args.frames % k_network.PHASES == 0 or not run.cuda, "a step is the window cycle: frame t has phase t mod 8"
        weights = k_network.Weights(k_network.Parameters(*flat), run.math_type)

        def frame(t, data, state):
            one = {name: data[name][t] for name in ("color", "a", "c", "span")}
            weights.growth = frame.cost if t % 4 == 3 else None
            shown, state = k_pipeline.frame(geometry, weights, one, data["params"][t], state, t % k_network.PHASES)
            return shown, state.history[:, :3], state

        frame.cost = []
        return frame


PRESETS = {p.name: p for p in (PresetM(), PresetK())}
