"""Multiscale images of OME-Zarr: scales and units become voxel sizes and magnifications."""

from typing import Any

import pytest

from fastzarr.errors import MetadataError
from fastzarr.volumes import ome


def image(
    *scales: list[float], axes: str = "zyx", unit: str | None = "micrometer", **others: Any
) -> dict[str, Any]:
    space = {"type": "space"} | ({"unit": unit} if unit else {})
    return {
        "axes": [{"name": a} | (space if a in "xyz" else {"type": "channel"}) for a in axes],
        "datasets": [
            {"path": str(n), "coordinateTransformations": [{"type": "scale", "scale": scale}]}
            for n, scale in enumerate(scales)
        ],
        **others,
    }


def v5(**members: Any) -> dict[str, Any]:
    return {"ome": {"version": "0.5", "multiscales": [members]}}


def test_scales_become_voxel_size_and_magnifications() -> None:
    for attributes, version in (
        (v5(**image([4, 0.5, 0.25], [4, 1, 0.5], [8, 2.02, 0.99])), "0.5"),
        ({"multiscales": [image([4, 0.5, 0.25], [4, 1, 0.5], [8, 2.02, 0.99], version="0.4")]}, "0.4"),
    ):
        (found,) = ome.parse(attributes, "here")
        assert found.version == version
        assert found.voxel_size == (250.0, 500.0, 4000.0)
        assert {mag: level.path for mag, level in found.mags().items()} == {
            (1, 1, 1): "0",
            (2, 2, 1): "1",
            (4, 4, 2): "2",
        }


def test_written_attributes_read_as_they_were_given() -> None:
    mags = {(2, 2, 1): "2-2-1", (1, 1, 1): "1"}
    for version in ("0.4", "0.5"):
        given = ome.attributes("cxyz", (11.24, 11.24, 25.0), mags, version=version, name="color")
        (found,) = ome.parse(given, "here")
        assert (found.version, found.name) == (version, "color")
        assert [axis.name for axis in found.axes] == ["c", "x", "y", "z"]
        assert found.voxel_size == (11.24, 11.24, 25.0)
        assert {mag: level.path for mag, level in found.mags().items()} == mags


def test_written_attributes_are_those_of_webknossos() -> None:
    space = {"type": "space", "unit": "nanometer"}
    assert ome.attributes("cxyz", (11.24, 11.24, 25.0), {(1, 1, 1): "1"}) == {
        "ome": {
            "version": "0.5",
            "multiscales": [
                {
                    "axes": [{"name": "c", "type": "channel"}, *({"name": a} | space for a in "xyz")],
                    "datasets": [
                        {
                            "path": "1",
                            "coordinateTransformations": [
                                {"type": "scale", "scale": [1.0, 11.24, 11.24, 25.0]}
                            ],
                        }
                    ],
                }
            ],
        }
    }


def test_transformations_of_image_and_level_follow_one_another() -> None:
    steps = [{"type": "scale", "scale": [2, 2, 2]}, {"type": "translation", "translation": [20, 40, 60]}]
    whole = [{"type": "scale", "scale": [10, 10, 10]}, {"type": "identity"}]
    members = image([1, 1, 1], unit="nanometer", coordinateTransformations=whole)
    members["datasets"][0]["coordinateTransformations"] = steps
    (found,) = ome.parse(v5(**members), "here")
    assert found.voxel_size == (20.0, 20.0, 20.0)
    assert found.offset(found.levels[0]) == (30, 20, 10)


def test_centre_of_larger_voxels_is_not_taken_for_an_offset() -> None:
    members = image([1, 1, 1], [4, 4, 4])
    members["datasets"][1]["coordinateTransformations"].append(
        {"type": "translation", "translation": [1.5, 1.5, 1.5]}
    )
    (found,) = ome.parse(v5(**members), "here")
    assert [found.offset(level) for level in found.levels] == [(0, 0, 0), (0, 0, 0)]


def test_axes_that_are_missing_and_units_that_are_not_told() -> None:
    (flat,) = ome.parse(v5(**image([0.5, 0.25], [1, 0.5], axes="yx", unit=None)), "here")
    assert flat.voxel_size == (0.25, 0.5, 1.0)
    assert list(flat.mags()) == [(1, 1, 1), (2, 2, 1)]
    assert (flat.dimension("x"), flat.dimension("z")) == (1, None)
    assert ome.parse({"other": 1, "ome": {"plate": {}}}, "here") == ()


@pytest.mark.parametrize(
    ("members", "text"),
    [
        (image(), r"ome.multiscales\[0\].datasets: got \[\], expected a list of 1 or more"),
        (
            image([1, 1]),
            r"coordinateTransformations\[0\].scale: got \[1, 1\], expected 3 numbers, one for each",
        ),
        (image([1, 0, 1]), r"scale: got \[1, 0, 1\], expected numbers above 0"),
        (image([1, 1, 1], unit="pixel"), r"axes\[0\].unit: got 'pixel', expected one of yoctometer"),
        (image([1, 1, 1], axes="zzx"), r"axes: got \['z', 'z', 'x'\], expected names that differ"),
        (image([1], axes="x"), r"axes: got \['x'\], expected axes x and y among them"),
        (
            {"axes": [{"name": "y"}, {"name": "x"}], "datasets": [{"path": "0"}]},
            "expected a list with a scale",
        ),
    ],
)
def test_error_names_member_value_and_what_is_allowed(members: dict[str, Any], text: str) -> None:
    with pytest.raises(MetadataError, match=text) as caught:
        ome.parse(v5(**members), "/data/image")
    assert str(caught.value).startswith("/data/image: ")


def test_versions_that_are_not_known_are_refused() -> None:
    with pytest.raises(MetadataError, match=r"multiscales\[0\].version: got '0.3', expected '0.4' or '0.5'"):
        ome.parse({"multiscales": [image([1, 1, 1], version="0.3")]}, "here")


def test_levels_must_have_magnifications() -> None:
    (found,) = ome.parse(v5(**image([1, 1, 1], [1.5, 1.5, 1.5])), "here")
    with pytest.raises(MetadataError, match=r"level '1': got 1.5, 1.5, 1.5, expected ratios"):
        found.mags()
    (found,) = ome.parse(v5(**image([1, 1, 1], [1, 1, 1])), "here")
    with pytest.raises(MetadataError, match="level '1': got magnification 1, which '0' has too"):
        found.mags()
