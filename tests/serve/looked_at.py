"""Datasets to look at, and what a browser shows of them."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import served_samples
from numpy.typing import NDArray
from served_samples import END, OFFSET, VOXEL_SIZE, SampleLayer

BRAIN = served_samples.layers()
ONE, TWO = (1, 1, 1), (2, 2, 1)
AXES = {"xy": (0, 1, 2), "yz": (2, 1, 0), "xz": (0, 2, 1)}
"""Of each plane: the axis to the right, the one down, the one into the screen."""

BLACK = 0xFF000000
HATCH = {0xFF2834C4, 0xFF0E1040}
"""Colours of what can't be read; as all pixels here 32-bit numbers, little endian R G B A."""

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NO_GPU = "--disable-gpu"


def number_samples() -> dict[str, SampleLayer]:
    """A layer of each other kind of number, with values of its whole range; WKW has them all."""
    found: dict[str, SampleLayer] = {}
    for dtype in ("uint16", "int8", "int16", "int32", "int64", "float64"):
        data = np.zeros((1, *END), dtype)
        box = data[:, *(slice(o, None) for o in OFFSET)]
        box[...] = np.random.default_rng(len(found)).integers(-(2**60), 2**60, box.shape).astype(dtype)
        if dtype == "float64":
            box[..., ::7] = np.nan
        found[dtype] = SampleLayer("color", "lz4", {ONE: data})
    ids = np.zeros((1, *END), "uint64")
    box = ids[:, *(slice(o, None) for o in OFFSET)]
    box[...] = np.random.default_rng(9).integers(0, 2**64 - 1, box.shape, "uint64", endpoint=True)
    box[:, ::3] = 0
    found["ids"] = SampleLayer("segmentation", "lz4", {ONE: ids})
    return found


NUMBERS = number_samples()


def without_missing(samples: Mapping[str, SampleLayer]) -> None:
    """The file that `write_wkw` leaves out is zero."""
    for sample in samples.values():
        for data in sample.mags.values():
            data[:, served_samples.CUBE :, : served_samples.CUBE, : served_samples.CUBE] = 0


without_missing(NUMBERS)


def write(root: Path) -> None:
    served_samples.write_wkw(root / "brain", BRAIN)
    served_samples.write_wkw(root / "numbers", NUMBERS)
    served_samples.write_sharded(root / "sharded", BRAIN["color"].mags[ONE])
    broken = root / "broken"
    broken.mkdir()
    (broken / "header.wkw").write_bytes(b"WKW\x07" + bytes(12))
    damage(root / "damaged")


def damage(path: Path) -> None:
    """A copy of the layer `color` whose first file has bytes in its blocks that are not LZ4."""
    served_samples.write_wkw(path, {"color": BRAIN["color"]})
    file = path / "color/1/z0/y0/x0.wkw"
    content = bytearray(file.read_bytes())
    table = 16 + 8 * 8
    content[table:] = b"\xff" * (len(content) - table)
    file.write_bytes(content)


@contextmanager
def browser(*more: str) -> Iterator[Any]:
    """Chromium; tests are skipped where it isn't installed."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=CHROMIUM, args=[*ARGUMENTS, *more])
        yield running
        running.close()


class Look:
    """A page, and all that went wrong on it."""

    def __init__(self, running: Any, url: str, **options: Any) -> None:
        self.url = url
        self.context = running.new_context(viewport={"width": 1200, "height": 800}, **options)
        self.page = self.context.new_page()
        self.requests: list[str] = []
        self.cancelled: list[str] = []
        self.complaints: list[str] = []
        self.page.on("console", lambda message: self._heard(message))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("requestfailed", lambda request: self.cancelled.append(request.url))

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning") and "getImageData" not in message.text:
            self.complaints.append(message.text)

    def end(self) -> None:
        """Close it; nothing may have gone wrong."""
        self.context.close()
        assert self.complaints == []

    def forgive(self, answer: str) -> None:
        """Leave out what the browser itself says of requests that fail like this."""
        start = "Failed to load resource"
        self.complaints = [c for c in self.complaints if not (c.startswith(start) and answer in c)]

    def open(self, path: str) -> Any:
        self.page.goto(self.url + path)
        return self.settle()

    def view(self, dataset: str, fragment: str = "", query: str = "") -> Any:
        """Open the viewer anew and wait until all is loaded."""
        self.page.goto("about:blank")
        return self.open(f"/view/{dataset}{query}{fragment and '#' + fragment}")

    def settle(self) -> Any:
        """Wait until nothing is on its way and all is painted."""
        self.page.wait_for_function(
            """() => document.body.dataset.state === 'failed' || document.body.dataset.state === 'idle' &&
               (!globalThis.viewer || (viewer.store.pending === 0 && !viewer.frame))"""
        )
        return self.page

    def pixels(self, plane: str) -> NDArray[np.uint32]:
        """The image of a plane, without cross-hair; [down, right]."""
        width, height, raw = self.page.evaluate(
            """(name) => {
                const canvas = document.querySelector(`[data-plane=${name}] canvas.image`);
                const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
                let text = '';
                for (let i = 0; i < data.length; i += 32768) {
                    text += String.fromCharCode(...data.subarray(i, i + 32768));
                }
                return [canvas.width, canvas.height, btoa(text)];
            }""",
            plane,
        )
        return np.frombuffer(base64.b64decode(raw), "<u4").reshape(height, width)

    def seen(self, plane: str, mag: tuple[int, int, int] = ONE) -> tuple[tuple[Any, Any], NDArray[np.bool_]]:
        """Which voxel of `mag` each pixel is to show, as an index of a slice [right, down], and which pixels
        lie in the bounding box."""
        state = self.page.evaluate("({ ...viewer.state, planes: viewer.planes.map((p) => p.pixels) })")
        size = dict(zip(AXES, state["planes"], strict=True))[plane]
        places, inside = [], []
        for axis, count in zip(AXES[plane][:2], size, strict=True):
            per_pixel = 1 / (VOXEL_SIZE[axis] / state["scale"])
            voxel = np.floor(state["centre"][axis] + (np.arange(count) + 0.5 - count / 2) * per_pixel).astype(
                int
            )
            inside.append((voxel >= OFFSET[axis]) & (voxel < END[axis]))
            places.append(np.clip(voxel, 0, END[axis] - 1) // mag[axis])
        return (places[0][None, :], places[1][:, None]), inside[1][:, None] & inside[0][None, :]

    def expected(self, plane: str, data: NDArray[Any], mag: tuple[int, int, int] = ONE) -> NDArray[Any]:
        """The voxels [down, right, c] that a plane is to show of `data` [c, x, y, z]."""
        right, down, into = AXES[plane]
        position = self.page.evaluate("viewer.state.position")
        flat = np.moveaxis(data, (1 + right, 1 + down, 1 + into), (0, 1, 3))[..., position[into] // mag[into]]
        index, _ = self.seen(plane, mag)
        return flat[index]


def only(layer: str, samples: Mapping[str, Any], how: str = "") -> str:
    """The part of an address that shows one layer and hides all others."""
    hidden = [f"layer.{name}=off" for name in samples if name != layer]
    return "&".join([*hidden, f"layer.{layer}=on;{how}"])


def every(samples: Mapping[str, Any]) -> str:
    """The part of an address that shows all layers."""
    return "&".join(f"layer.{name}=on" for name in samples)


def grey(values: NDArray[Any], low: float, high: float) -> NDArray[np.uint32]:
    """Pixels of one channel in a contrast window."""
    level = (values.astype("f8") - low) * (255 / (high - low))
    rounded = np.floor(np.clip(np.nan_to_num(level, nan=0), 0, 255) + 0.5).astype("u4")
    return BLACK | rounded | rounded << 8 | rounded << 16
