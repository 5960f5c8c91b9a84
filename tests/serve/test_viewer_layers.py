"""How layers are shown before anyone changes it, and how lengths are told, in Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import conftest
import numpy as np
import pytest
from looked_at import Look

import fastzarr
from fastzarr.volumes import ome

SHAPE = (4, 16, 40, 40)
VOXEL_SIZE = (500.0, 500.0, 2000.0)
HERE = "at=20,20,5&zoom=4"


def write(root: Path) -> None:
    """`microscope.zarr`: an image of four channels, the first on the left, the others on the right."""
    data = np.random.default_rng(1).integers(400, 2400, SHAPE, "uint16", endpoint=True)
    data[0, ..., 20:] = 0
    data[1:, ..., :20] = 0
    described = ome.attributes("czyx", VOXEL_SIZE, {(1, 1, 1): "0"}, name="scope")
    image = fastzarr.create_group(root / "microscope.zarr", attributes=described)
    image.create_array("0", data=data, chunks=(1, *SHAPE[1:]))
    fastzarr.create_array(root / "plain", data=data[0], dimension_names=["z", "y", "x"])
    fastzarr.create_array(root / "zeros", shape=SHAPE[1:], dtype="uint16", dimension_names=["z", "y", "x"])
    (root / "broken").mkdir()
    (root / "broken/zarr.json").write_text("{")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[conftest.Server]:
    root = tmp_path_factory.mktemp("looked-at")
    write(root)
    running = conftest.start_server(root, log=tmp_path_factory.mktemp("log") / "server.log")
    yield running
    running.stop()


@pytest.fixture
def look(chromium: Any, server: conftest.Server) -> Iterator[Look]:
    found = Look(chromium, server.url)
    found.context.add_init_script(
        """globalThis.drawn = new Set();
        const draw = CanvasRenderingContext2D.prototype.fillText;
        CanvasRenderingContext2D.prototype.fillText = function (text, ...more) {
            drawn.add(text);
            draw.call(this, text, ...more);
        };"""
    )
    yield found
    found.end()


def bars(page: Any) -> set[str]:
    """Texts of all scale bars that were drawn."""
    return {text for text in page.evaluate("[...drawn]") if text not in "xyz"}


def test_a_layer_that_is_switched_on_has_a_window_that_suits_it(look: Look) -> None:
    page = look.view("microscope.zarr", HERE)
    for _ in range(2):
        assert page.evaluate("viewer.state.layers[1].window") is None
        page.keyboard.press("2")
        page.wait_for_function("() => viewer.state.layers[1].window !== null")
        look.settle()
        low, high = page.evaluate("viewer.state.layers[1].window")
        assert 400 <= low < 500 and 2300 < high <= 2400
        assert page.get_by_label("Black at, scope-1").last.input_value() == str(low)
        assert page.get_by_label("White at, scope-1").last.input_value() == str(high)
        page.evaluate("location.hash = 'at=21,20,5&zoom=4'")
        page.wait_for_function("() => viewer.state.position[0] === 21")


def test_limits_of_data_types_are_told_exactly(look: Look) -> None:
    page = look.view("zeros")
    assert page.get_by_label("White at, zeros").last.input_value() == "65535"
    told = page.evaluate(
        """async () => {
            const { limits, limitText } = await import('/static/voxels.js');
            const types = ['int8', 'uint16', 'uint32', 'int64', 'uint64'];
            return types.map((dtype) => limits(dtype).map((value) => limitText(dtype, value)));
        }"""
    )
    found = [np.iinfo(dtype) for dtype in ("int8", "uint16", "uint32", "int64", "uint64")]
    assert told == [[str(info.min), str(info.max)] for info in found]
    page.evaluate("Object.assign(viewer.state.layers[0], { window: [0, 4294967295] })")
    assert page.evaluate("viewer.state.toHash(viewer.layers)").endswith("window:0:4294967295")


def test_layers_of_one_image_have_colours_that_add_up(look: Look) -> None:
    on = "&".join(f"layer.scope-{channel}=on" for channel in range(2))
    page = look.view("microscope.zarr", f"{HERE}&{on}")
    tints = page.evaluate("viewer.state.layers.map(({ tint }) => String(tint))")
    assert tints[0] == "255,255,255"
    assert len(set(tints)) == len(tints) == 4
    assert "tint" not in page.evaluate("viewer.state.toHash(viewer.layers)")
    inside = page.evaluate("viewer.planes[0].perVoxel(0)") * 20
    pixels = look.pixels("xy")
    middle = pixels.shape[1] // 2 - round(0.5 * inside / 20)
    rows = slice(pixels.shape[0] // 2 - 20, pixels.shape[0] // 2 + 20)
    left, right = pixels[rows, middle - 40 : middle - 4], pixels[rows, middle + 8 : middle + 40]
    red, green, blue = (left >> shift & 255 for shift in (0, 8, 16))
    np.testing.assert_array_equal(red, green)
    np.testing.assert_array_equal(red, blue)
    red, green, blue = (right >> shift & 255 for shift in (0, 8, 16))
    assert (green >= blue).all() and (blue >= red).all() and (green > red).mean() > 0.9


@pytest.mark.parametrize(
    ("zoom", "bar", "positions"),
    [
        (100, "500 nm", ["10 000 nm", "10 000 nm", "10 000 nm"]),
        (4, "10 µm", ["10.0 µm", "10.0 µm", "10.0 µm"]),
        (0.01, "5 mm", ["0.0100 mm", "0.0100 mm", "0.0100 mm"]),
    ],
)
def test_positions_are_told_in_the_unit_of_the_scale_bar(
    look: Look, zoom: float, bar: str, positions: list[str]
) -> None:
    page = look.view("microscope.zarr", f"at=20,20,5&zoom={zoom}")
    assert bar in bars(page)
    lengths = page.locator(".where .length").all_inner_texts()
    units = page.locator(".where small").all_inner_texts()
    told = [f"{length} {unit}" for length, unit in zip(lengths, units, strict=True)]
    assert [text.replace("\u202f", " ") for text in told] == positions


def test_lengths_are_voxels_where_their_size_is_not_known(look: Look) -> None:
    page = look.view("plain", HERE)
    assert page.inner_text(".status") == "0.25 vx per pixel"
    assert {text.split()[1] for text in bars(page)} == {"vx"}
    assert page.locator(".where .length").all_inner_texts() == ["", "", ""]
    assert page.get_attribute("h1", "title") == "plain: 40 × 40 × 16 voxels of unknown size"


def test_a_phone_has_room_for_the_name(look: Look) -> None:
    look.page.set_viewport_size({"width": 390, "height": 844})
    page = look.view("microscope.zarr")
    assert page.evaluate(
        "(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)(document.querySelector('h1'))"
    )
    top = {name: page.locator(name).bounding_box()["y"] for name in ("h1", ".more", ".go", ".zoom")}
    assert max(top["h1"], top[".more"]) < min(top[".go"], top[".zoom"])


@pytest.mark.parametrize("name", ["nope", "broken"])
def test_what_cannot_be_shown_has_no_controls(look: Look, name: str) -> None:
    look.page.goto(f"{look.url}/view/{name}")
    look.page.wait_for_selector(".fatal")
    assert look.page.locator("header :is(button, input):visible").count() == 0
    assert look.page.get_by_role("link", name="All datasets").is_visible()
    look.forgive("404")
