"""The viewer in Chromium: pixels against the voxels, and all that is on the page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import conftest
import numpy as np
import pytest
from looked_at import (
    AXES,
    BLACK,
    BRAIN,
    HATCH,
    NUMBERS,
    ONE,
    TWO,
    Look,
    every,
    grey,
    only,
    write,
)
from served_samples import END, OFFSET, SIZE, VOXEL_SIZE

COLOR = BRAIN["color"].mags[ONE]
HERE = "at=40,30,20&zoom=4"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("looked-at")
    write(path)
    return path


@pytest.fixture(scope="module")
def server(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[conftest.Server]:
    running = conftest.start_server(root, log=tmp_path_factory.mktemp("log") / "server.log")
    yield running
    running.stop()


@pytest.fixture
def look(chromium: Any, server: conftest.Server) -> Iterator[Look]:
    found = Look(chromium, server.url)
    yield found
    found.end()
    assert all(url.startswith((server.url, "data:")) for url in found.requests)


def place_of(look: Look, plane: str, voxel: tuple[int, int, int]) -> tuple[float, float]:
    """The middle of a voxel on the screen."""
    x, y = look.page.evaluate(
        """([name, voxel]) => {
            const plane = viewer.planes.find((p) => p.name === name);
            const { left, top } = plane.overlay.getBoundingClientRect();
            const { u, v } = plane.axes;
            return [left + plane.toPixel(u, voxel[u] + 0.5), top + plane.toPixel(v, voxel[v] + 0.5)];
        }""",
        [plane, voxel],
    )
    return x, y


def assert_shows(look: Look, pixels_of: Callable[[Any], Any], data: Any, mag: Any = ONE) -> None:
    for plane in AXES:
        _, inside = look.seen(plane, mag)
        wanted = np.where(inside, pixels_of(look.expected(plane, data, mag)), 0)
        assert inside.any()
        np.testing.assert_array_equal(look.pixels(plane), wanted, err_msg=plane)


@pytest.mark.parametrize("where", [HERE, "at=5,75,56&zoom=7.3", "at=104,6,7&zoom=1.17&centre=60,40,30"])
def test_planes_show_the_voxels(look: Look, where: str) -> None:
    look.view("brain", f"{where}&{only('color', BRAIN)}")
    assert_shows(look, lambda values: grey(values[..., 0], 0, 255), COLOR)


def test_three_channels_are_red_green_and_blue(look: Look) -> None:
    look.view("brain", f"{HERE}&{only('rgb', BRAIN)}")

    def pixels(values: Any) -> Any:
        red, green, blue = np.moveaxis(values.astype("u4"), -1, 0)
        return BLACK | red | green << 8 | blue << 16

    assert_shows(look, pixels, BRAIN["rgb"].mags[ONE])


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        ("uint16", 100, 60_000),
        ("int8", -100, 90),
        ("int16", -30_000, 5_000),
        ("int32", -(2**30), 2**29),
        ("int64", -(2**60), 2**60),
        ("float64", -(2**59), 2**60),
    ],
)
def test_every_data_type_is_shown_in_its_contrast_window(look: Look, dtype: str, low: int, high: int) -> None:
    look.view("numbers", f"{HERE}&{only(dtype, NUMBERS, f'tint:white;window:{low}:{high}')}")
    data = NUMBERS[dtype].mags[ONE]
    for plane in AXES:
        _, inside = look.seen(plane)
        wanted = grey(look.expected(plane, data)[..., 0], low, high)
        levels = look.pixels(plane)[inside] & 255
        assert len(np.unique(levels)) > 3
        np.testing.assert_allclose(levels.astype(int), (wanted & 255)[inside].astype(int), atol=1)


def test_a_window_is_found_for_numbers_of_unknown_range(look: Look) -> None:
    page = look.view("brain", f"{HERE}&{only('depth', BRAIN)}")
    low, high = page.evaluate("viewer.state.layers.find((_, i) => viewer.layers[i].name === 'depth').window")
    assert 0 < low < 5_000
    assert 65_000 < high <= 70_000


@pytest.mark.parametrize(("dataset", "layer"), [("brain", "labels"), ("numbers", "ids")])
def test_segments_have_one_colour_each(look: Look, dataset: str, layer: str) -> None:
    samples = BRAIN if dataset == "brain" else NUMBERS
    data = samples[layer].mags[ONE]
    colours: dict[int, int] = {}
    for _ in range(2):
        look.view(dataset, f"{HERE}&{only(layer, samples, 'opacity:1')}")
        for plane in AXES:
            _, inside = look.seen(plane)
            ids = look.expected(plane, data)[..., 0][inside]
            for segment, colour in zip(ids.tolist(), look.pixels(plane)[inside].tolist(), strict=True):
                assert colours.setdefault(segment, colour) == colour
    assert colours.pop(0) == BLACK
    assert BLACK not in colours.values()
    assert len(set(colours.values())) > 0.25 * min(len(colours), 4096)
    assert len(colours) > 1000


def test_colours_of_segments_are_those_of_earlier_releases(look: Look) -> None:
    page = look.view("brain")
    found = page.evaluate(
        """async (ids) => {
            const { segmentColour } = await import('/static/colours.js');
            return ids.map((id) => segmentColour(BigInt(id)));
        }""",
        ["1", "2", "70000", str(2**32), str(2**64 - 1)],
    )
    assert [f"{colour & 0xFFFFFF:06x}" for colour in found] == GOLDEN


GOLDEN = ["ffd355", "4de5d2", "6600ff", "00ff14", "e5b026"]


def test_segments_lie_over_the_image_as_far_as_they_are_opaque(look: Look) -> None:
    hidden = "layer.rgb=off&layer.depth=off"
    look.view("brain", f"{HERE}&{hidden}&layer.color=off&layer.labels=opacity:1")
    above = {plane: look.pixels(plane) for plane in AXES}
    look.view("brain", f"{HERE}&{hidden}&layer.labels=opacity:0.25")
    labels = BRAIN["labels"].mags[ONE]
    for plane in AXES:
        _, inside = look.seen(plane)
        pixels = look.pixels(plane)
        covered = inside & (look.expected(plane, labels)[..., 0] > 0)
        below = grey(look.expected(plane, COLOR)[..., 0], 0, 255)
        for shift in (0, 8, 16):
            mixed = 0.75 * (below >> shift & 255) + 0.25 * (above[plane] >> shift & 255)
            assert np.abs((pixels >> shift & 255) - mixed)[covered].max() <= 1
        bare = inside & ~covered
        np.testing.assert_array_equal(pixels[bare], below[bare])


def test_wheel_and_keys_go_through_slices(look: Look) -> None:
    page = look.view("brain", f"{HERE}&{only('color', BRAIN)}")
    page.mouse.move(*place_of(look, "xy", (40, 30, 20)))
    page.mouse.wheel(0, 100)
    page.wait_for_selector("[data-plane=xy][data-slice='21']")
    look.settle()
    sent = len(look.requests)
    assert_shows(look, lambda values: grey(values[..., 0], 0, 255), COLOR)
    page.keyboard.down("Shift")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Shift")
    page.wait_for_selector("[data-plane=xy][data-slice='11']")
    look.settle()
    assert not [url for url in look.requests[sent:] if "/data/" in url], "all of it was there"
    for key, position in {
        "f": [40, 30, 12],
        "Shift+F": [40, 30, 22],
        "d": [40, 30, 21],
        "ArrowLeft": [39, 30, 21],
        "ArrowDown": [39, 31, 21],
        "Shift+ArrowRight": [49, 31, 21],
    }.items():
        page.keyboard.press(key)
        assert page.evaluate("viewer.state.position") == position, key
    page.mouse.wheel(0, 9000)
    page.wait_for_function(f"() => viewer.state.position[2] === {END[2] - 1}")
    look.settle()
    assert_shows(look, lambda values: grey(values[..., 0], 0, 255), COLOR)


def test_zoom_switches_magnifications(look: Look) -> None:
    page = look.view("brain", f"at=40,30,20&zoom=2&{only('color', BRAIN)}")
    assert page.get_attribute("[data-plane=xy]", "data-mag") == "1"
    page.mouse.move(*place_of(look, "xy", (40, 30, 20)))
    page.keyboard.down("Control")
    for _ in range(4):
        page.mouse.wheel(0, 100)
    page.keyboard.up("Control")
    page.wait_for_selector("[data-plane=xy][data-mag='2-2-1']")
    page.wait_for_timeout(100)
    look.settle()
    assert page.evaluate("viewer.state.zoom") < 1
    assert "mag 2-2-1" in page.inner_text("[data-plane=xy] figcaption")
    two = BRAIN["color"].mags[TWO]
    _, inside = look.seen("xy", TWO)
    wanted = np.where(inside, grey(look.expected("xy", two, TWO)[..., 0], 0, 255), 0)
    np.testing.assert_array_equal(look.pixels("xy"), wanted)
    for _ in range(12):
        page.keyboard.press("+")
    look.settle()
    assert page.get_attribute("[data-plane=xy]", "data-mag") == "1"


def test_zoom_keeps_what_is_below_the_pointer(look: Look) -> None:
    page = look.view("brain", HERE)
    below = """() => {
        const plane = viewer.planes[0];
        const { left, top } = plane.overlay.getBoundingClientRect();
        return plane.toVoxel(400 - left, 210 - top);
    }"""
    before = page.evaluate(below)
    page.mouse.move(400, 210)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -150)
    page.keyboard.up("Control")
    page.wait_for_function("() => viewer.state.zoom > 5")
    assert page.evaluate(below) == pytest.approx(before, abs=1e-6)


@pytest.mark.parametrize("plane", AXES)
def test_value_and_position_are_those_below_the_pointer(look: Look, plane: str) -> None:
    page = look.view("brain", f"{HERE}&{every(BRAIN)}")
    position = [40, 30, 20]
    right, down, _ = AXES[plane]
    for across, along in [(0, 0), (3, -2), (-9, 5)]:
        voxel = [*position]
        voxel[right] += across
        voxel[down] += along
        page.mouse.move(*place_of(look, plane, (voxel[0], voxel[1], voxel[2])))
        assert page.get_attribute(".readout", "data-voxel") == ",".join(map(str, voxel))
        for name, sample in BRAIN.items():
            values = sample.mags[ONE][:, *voxel]
            assert page.inner_text(f".readout [data-layer={name}]") == ", ".join(f"{v:g}" for v in values)
        nanometres = [re.sub(r"\s", "", text) for text in page.locator(".length").all_inner_texts()]
        assert nanometres == [str(round(v * s)) for v, s in zip(voxel, VOXEL_SIZE, strict=True)]


def test_ids_of_64_bits_are_told_exactly(look: Look) -> None:
    page = look.view("numbers", f"{HERE}&layer.int64=on")
    ids = NUMBERS["ids"].mags[ONE]
    told = page.inner_text(".readout [data-layer=ids]")
    assert told == str(ids[0, 40, 30, 20])
    assert int(told) > 2**53
    assert page.inner_text(".readout [data-layer=int64]") == str(NUMBERS["int64"].mags[ONE][0, 40, 30, 20])


def test_click_sets_the_cross_hair_and_an_address_leads_back(look: Look) -> None:
    page = look.view("brain", f"{HERE}&layer.labels=off")
    page.mouse.click(*place_of(look, "yz", (40, 25, 33)))
    assert page.evaluate("viewer.state.position") == [40, 25, 33]
    page.mouse.move(*place_of(look, "xz", (40, 25, 33)))
    page.mouse.down()
    page.mouse.move(700, 600)
    page.mouse.up()
    assert page.evaluate("viewer.state.position") == [40, 25, 33], "a drag is no click"
    look.settle()
    before = {plane: look.pixels(plane) for plane in AXES}
    page.wait_for_function("() => location.hash.includes('at=40,25,33') && location.hash.includes('centre=')")
    address = page.url
    assert "layer.labels=off" in address
    page.goto("about:blank")
    page.goto(address)
    look.settle()
    assert page.evaluate("viewer.state.position") == [40, 25, 33]
    for plane in AXES:
        assert (look.pixels(plane) == before[plane]).mean() > 0.99, "positions are rounded in addresses"


def test_drag_pans_all_planes(look: Look) -> None:
    page = look.view("brain", f"{HERE}&{only('color', BRAIN)}")
    x, y = place_of(look, "xy", (40, 30, 20))
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y - 40, steps=4)
    page.mouse.up()
    assert place_of(look, "xy", (40, 30, 20)) == pytest.approx((x + 60, y - 40), abs=1e-6)
    look.settle()
    assert_shows(look, lambda values: grey(values[..., 0], 0, 255), COLOR)


def test_layers_are_hidden_by_their_switches_and_keys(look: Look) -> None:
    page = look.view("brain", f"{HERE}&{only('labels', BRAIN, 'opacity:1')}")
    shown = look.pixels("xy")
    page.get_by_role("switch", name="Show labels").click()
    look.settle()
    _, inside = look.seen("xy")
    assert set(np.unique(look.pixels("xy")[inside])) == {BLACK}
    page.keyboard.press("s")
    look.settle()
    np.testing.assert_array_equal(look.pixels("xy"), shown)


def test_first_view_shows_all_of_the_dataset(look: Look) -> None:
    look.view("brain", only("color", BRAIN))
    for plane, (right, down, _) in AXES.items():
        (across, along), inside = look.seen(plane, ONE)
        assert np.unique(across[0][inside.any(0)]).size == SIZE[right]
        assert np.unique(along[:, 0][inside.any(1)]).size == SIZE[down]
    assert look.page.evaluate("viewer.state.position") == [
        o + s // 2 for o, s in zip(OFFSET, SIZE, strict=True)
    ]


def test_what_cannot_be_read_is_hatched_and_told(look: Look) -> None:
    page = look.view("damaged", "at=20,20,20&zoom=4")
    _, inside = look.seen("xy")
    (across, along), _ = look.seen("xy")
    unreadable = inside & (across < 64) & (along < 64)
    pixels = look.pixels("xy")
    assert set(np.unique(pixels[unreadable])) == HATCH
    assert not HATCH & set(np.unique(pixels[inside & ~unreadable]).tolist())
    assert "could not be read" in page.inner_text(".banner")
    assert page.inner_text(".readout [data-layer=color]") == "unreadable"
    look.forgive("500")


def test_a_server_that_is_away_is_told_and_asked_again(look: Look) -> None:
    look.page.route("**/layers/*/data", lambda route: route.abort())
    look.page.goto(f"{look.url}/view/brain#{HERE}")
    look.page.wait_for_selector(".banner:has-text('does not answer')")
    look.page.unroute("**/layers/*/data")
    look.settle()
    assert look.page.is_hidden(".banner")
    look.forgive("net::ERR_FAILED")


def test_requests_of_what_is_no_longer_seen_are_cancelled(look: Look) -> None:
    held: list[Any] = []
    look.page.route("**/layers/*/data", lambda route: held.append(route))
    page = look.page
    page.goto(f"{look.url}/view/brain#at=10,10,10&zoom=60")
    page.wait_for_function("() => viewer.store.batches.size > 0")
    page.evaluate("location.hash = 'at=100,70,50&zoom=60'")
    page.wait_for_function("() => viewer.state.position[0] === 100")
    page.wait_for_timeout(200)
    assert look.cancelled
    for route in held:
        route.abort()
    page.goto("about:blank")
    look.forgive("net::ERR_FAILED")


def test_help_lists_what_keys_do(look: Look) -> None:
    page = look.view("brain", HERE)
    page.keyboard.press("?")
    assert "next slice" in page.inner_text("dialog.help[open]")
    page.keyboard.press("Escape")
    assert page.locator("dialog.help[open]").count() == 0


def test_addresses_for_other_programs_can_be_copied(look: Look) -> None:
    look.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = look.view("brain", HERE)
    page.get_by_role("button", name="Open in …").click()
    source = f"zarr3://{look.url}/data/zarr3_experimental/brain/labels/"
    page.get_by_role("button", name="Copy the source of labels").click()
    page.wait_for_selector("button:has-text('Copied')")
    assert page.evaluate("navigator.clipboard.readText()") == source
    link = page.get_by_role("link", name="Open in neuroglancer").get_attribute("href")
    assert link.startswith("https://neuroglancer-demo.appspot.com/#!")


def test_a_volume_of_zarr_is_shown_as_well(look: Look) -> None:
    page = look.view("sharded", "at=20,30,20&zoom=3")
    assert page.inner_text("h1") == "sharded"
    assert page.inner_text(".readout output[data-layer]") == str(COLOR[0, 20, 30, 20])


def test_what_cannot_be_opened_is_told(look: Look) -> None:
    look.page.goto(f"{look.url}/view/broken")
    look.page.wait_for_selector(".fatal")
    assert "version" in look.page.inner_text(".fatal")


def test_index_lists_all(look: Look) -> None:
    page = look.open("/")
    assert page.inner_text(".count") == "5 datasets, 1 of them unreadable"
    assert page.locator("article").evaluate_all("(all) => all.map((a) => a.dataset.dataset)") == [
        "brain", "broken", "damaged", "numbers", "sharded",
    ]  # fmt: skip
    brain = page.locator("[data-dataset=brain]")
    row = brain.locator("tr", has_text="rgb").inner_text()
    assert re.split(r"\s*\t\s*|\n", row) == ["rgb", "3 × uint8", "100 × 70 × 50 from 5, 6, 7", "1"]
    assert "11 nm × 12 nm × 25 nm" in brain.inner_text()
    assert "version" in page.locator("[data-dataset=broken] .problem").inner_text()
    brain.get_by_role("link", name="View brain").click()
    look.settle()
    assert page.inner_text("h1") == "brain"
    look.forgive("500")


@pytest.mark.parametrize("width", [500, 390])
def test_pages_fit_a_phone(look: Look, width: int) -> None:
    look.page.set_viewport_size({"width": width, "height": 900})
    for path in ("/", "/view/brain"):
        page = look.open(path)
        assert page.evaluate("document.documentElement.scrollWidth") == width
    look.forgive("500")


def test_token_is_asked_for_kept_and_carried_along(
    chromium: Any, root: Path, serving: Callable[..., conftest.Server]
) -> None:
    url = serving(root, "--token", "secret").url
    look = Look(chromium, url)
    page = look.page
    page.goto(f"{url}/view/brain#{HERE}")
    page.wait_for_selector("dialog.token[open]")
    page.fill("dialog.token input", "secret")
    page.get_by_role("button", name="Go on").click()
    page.wait_for_function("() => globalThis.viewer")
    look.settle()
    assert page.inner_text(".readout [data-layer=color]") == str(COLOR[0, 40, 30, 20])
    look.context.close()

    look = Look(chromium, url)
    page = look.open("/?token=secret")
    page.get_by_role("link", name="View brain").click()
    page.wait_for_function("() => globalThis.viewer")
    look.settle()
    assert "token=secret" in page.url
    page.get_by_role("button", name="Open in …").click()
    assert f"{url}/data/zarr3_experimental/brain/color/?token=secret" in page.inner_text("dialog.share")
    page.keyboard.press("Escape")
    page.get_by_role("link", name="All datasets").click()
    look.settle()
    assert page.locator("article").count() == 5
    look.forgive("500")
    assert look.complaints == []
    assert not any("token=" in sent for sent in look.requests if "/data" in sent or "/api" in sent)
    look.context.close()


def test_first_image_and_first_segmentation_are_seen_at_first(look: Look) -> None:
    page = look.view("brain", HERE)
    switches = page.get_by_role("switch")
    seen = switches.evaluate_all("(all) => all.map((one) => [one.ariaLabel, one.checked])")
    assert dict(seen) == {"Show color": True, "Show labels": True, "Show rgb": False, "Show depth": False}
    assert page.inner_text(".readout [data-layer=rgb]") == "hidden"


def test_memory_stays_within_its_budget(look: Look) -> None:
    page = look.view("brain", f"at=20,20,10&zoom=20&{only('color', BRAIN)}")
    budget = 24 * 32**3
    page.evaluate("(budget) => { viewer.store.budget = budget; }", budget)
    for x, y, z in [(90, 70, 50), (20, 70, 10), (90, 68, 20), (30, 20, 50)]:
        page.evaluate("(place) => viewer.navigation.jumpTo(place)", [x, y, z])
        page.wait_for_selector(f"[data-plane=xy][data-slice='{z}']")
        look.settle()
        held = "() => viewer.store.levels.flat().flatMap((l) => [...l.buckets.values()])"
        assert page.evaluate(f"({held})().reduce((sum, b) => sum + b.nbytes, 0)") <= budget
        assert_shows(look, lambda values: grey(values[..., 0], 0, 255), COLOR)
