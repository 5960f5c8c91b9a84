"""neuroglancer, as its wheel carries it, shows what this server serves: pixels against the voxels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import conftest
import numpy as np
import pytest
import served_samples
from looked_at import BRAIN, ONE, Look, browser
from numpy.typing import NDArray
from served_samples import VOXEL_SIZE

import fastzarr

POSITION = (40, 30, 20)
ZOOM = 4
WEBGL = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader")
COLOR = BRAIN["color"].mags[ONE]


def write(root: Path) -> None:
    served_samples.write_wkw(root / "brain", BRAIN)
    group = fastzarr.create_group(root / "ome")
    served_samples.write_sharded(root / "ome/1", COLOR)
    axes = [{"name": "c", "type": "channel"}]
    axes += [{"name": name, "type": "space", "unit": "nanometer"} for name in "xyz"]
    scale = {"type": "scale", "scale": [1.0, *VOXEL_SIZE]}
    image = {"axes": axes, "datasets": [{"path": "1", "coordinateTransformations": [scale]}]}
    group.attrs["ome"] = {"version": "0.5", "multiscales": [image]}


@pytest.fixture(scope="module")
def neuroglancer() -> Any:
    module = pytest.importorskip("neuroglancer", reason="neuroglancer is not installed")
    module.set_server_bind_address("127.0.0.1")
    return module


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser(*WEBGL) as running:
        yield running


@pytest.fixture
def viewer(neuroglancer: Any) -> Any:
    found = neuroglancer.Viewer()
    with found.config_state.txn() as config:
        config.show_ui_controls = False
        config.show_panel_borders = False
    return found


@pytest.fixture
def server(viewer: Any, tmp_path: Path) -> Iterator[conftest.Server]:
    write(tmp_path / "data")
    origin = viewer.get_viewer_url().partition("/v/")[0]
    running = conftest.start_server(tmp_path / "data", "--cors", origin, log=tmp_path / "log")
    yield running
    running.stop()


def state_of(look: Look, dataset: str, layer: str) -> dict[str, Any]:
    """What our page hands to neuroglancer, with one layer and one plane."""
    page = look.view(dataset, f"at={','.join(map(str, POSITION))}&zoom={ZOOM}")
    state: dict[str, Any] = page.evaluate(
        """async () => {
            const { neuroglancerState } = await import('/static/share.js');
            return neuroglancerState(viewer.dataset, viewer.layers, viewer.state);
        }"""
    )
    layers = [each | {"visible": True} for each in state["layers"] if each["name"] == layer]
    bare = {"showAxisLines": False, "showScaleBar": False, "showDefaultAnnotations": False}
    return {**state, **bare, "layers": layers, "layout": "xy"}


def shown(look: Look, viewer: Any, state: dict[str, Any]) -> NDArray[np.uint8]:
    """The pixels [down, right, RGBA] as soon as neuroglancer has loaded all."""
    viewer.set_state(state)
    page = look.context.new_page()
    found: list[Any] = []
    viewer.async_screenshot(found.append)
    page.goto(viewer.get_viewer_url())
    for _ in range(300):
        if found:
            break
        page.wait_for_timeout(100)
    assert found, "no picture within 30 seconds"
    pixels: NDArray[np.uint8] = found[0].screenshot.image_pixels
    return pixels


def expected(pixels: NDArray[np.uint8], data: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The voxels [down, right, c] below the pixels of the plane x y, and where there are any."""
    places, inside = [], []
    for axis, count in ((0, pixels.shape[1]), (1, pixels.shape[0])):
        per_pixel = VOXEL_SIZE[0] / VOXEL_SIZE[axis] / ZOOM
        place = np.floor(POSITION[axis] + 0.5 + (np.arange(count) + 0.5 - count / 2) * per_pixel).astype(int)
        inside.append((place >= 0) & (place < data.shape[1 + axis]))
        places.append(place.clip(0, data.shape[1 + axis] - 1))
    flat = np.moveaxis(data[..., POSITION[2]], 0, -1)
    return flat[places[0][None, :], places[1][:, None]], inside[1][:, None] & inside[0][None, :]


@pytest.mark.parametrize("layer", ["color", "rgb"])
def test_wkw_is_shown_by_its_virtual_zarr(
    chromium: Any, server: conftest.Server, viewer: Any, layer: str
) -> None:
    look = Look(chromium, server.url)
    pixels = shown(look, viewer, state_of(look, "brain", layer))
    wanted, inside = expected(pixels, BRAIN[layer].mags[ONE])
    assert inside.sum() > 100_000
    channels = np.broadcast_to(wanted, (*inside.shape, 3))[inside].astype(int)
    np.testing.assert_allclose(pixels[inside][:, :3].astype(int), channels, atol=1)
    look.context.close()


def test_segments_of_wkw_are_shown(chromium: Any, server: conftest.Server, viewer: Any) -> None:
    look = Look(chromium, server.url)
    state = state_of(look, "brain", "labels")
    state["layers"][0] |= {"selectedAlpha": 1, "notSelectedAlpha": 1}
    pixels = shown(look, viewer, state)
    ids, inside = expected(pixels, BRAIN["labels"].mags[ONE])
    colours = pixels.view("<u4")[..., 0][inside].tolist()
    known: dict[int, int] = {}
    for segment, colour in zip(ids[..., 0][inside].tolist(), colours, strict=True):
        assert known.setdefault(segment, colour) == colour
    assert len(set(known.values())) > 0.9 * len(known)
    look.context.close()


def test_a_stored_sharded_image_is_shown(chromium: Any, server: conftest.Server, viewer: Any) -> None:
    look = Look(chromium, server.url)
    name = look.view("ome").evaluate("viewer.layers[0].name")
    state = state_of(look, "ome", name)
    state["layers"][0]["source"] = f"zarr3://{server.url}/zarr/ome/"
    pixels = shown(look, viewer, state)
    wanted, inside = expected(pixels, COLOR)
    np.testing.assert_allclose(pixels[inside][:, 0].astype(int), wanted[..., 0][inside].astype(int), atol=1)
    look.context.close()
