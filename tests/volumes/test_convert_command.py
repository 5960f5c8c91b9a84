"""`fastzarr convert`: options, output and errors."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from oracle import assert_same
from volume_oracles import smooth

import fastzarr
from fastzarr import wkw
from fastzarr.cli import main, option_names
from fastzarr.cli.convert import convert
from fastzarr.cli.sizes import readable
from fastzarr.volumes import properties
from fastzarr.volumes.boxes import BoundingBox


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["convert", *map(str, arguments)])


@pytest.fixture
def source(tmp_path: Path) -> Any:
    values = smooth((1, 40, 30, 20), "u1")[0]
    fastzarr.create_array(tmp_path / "em.zarr", data=values.transpose(2, 1, 0), chunks=(8, 8, 8))
    return tmp_path / "em.zarr", values


def test_options_reach_the_conversion(source: Any, tmp_path: Path) -> None:
    path, values = source
    found = run(
        *(path, tmp_path / "out", "--to", "wkw", "--codec", "lz4", "--chunk", 8, "--shard", 16),
        *("--layer", "raw", "--category", "segmentation", "--dtype", "uint16", "--downsample", 1),
        *("--voxel-size", "0.01,0.01,0.03um", "--bbox", "2,4,6,30,20,10", "--name", "demo"),
        *("--memory", "64M", "--workers", 2, "--verify", "full", "--axes", "zyx"),
    )
    assert found.exit_code == 0, found.output
    assert "raw/1: " in found.stdout
    assert "verified twice" in found.stdout
    dataset = properties.read(tmp_path / "out")
    assert (dataset.name, dataset.voxel_size) == ("demo", (10.0, 10.0, 30.0))
    (layer,) = dataset.layers
    assert (layer.name, layer.category, layer.dtype) == ("raw", "segmentation", np.uint16)
    assert layer.bounding_box == BoundingBox(offset=(2, 4, 6), size=(30, 20, 10))
    assert [mag.mag for mag in layer.mags] == [(1, 1, 1), (2, 2, 1)]
    array = wkw.open(tmp_path / "out/raw/1")
    assert (array.block_type, array.chunks, array.shards) == ("lz4", (1, 8, 8, 8), (1, 16, 16, 16))
    assert_same(array[0, 2:32, 4:24, 6:16], values[2:32, 4:24, 6:16].astype("u2"))


def test_report_as_json(source: Any, tmp_path: Path) -> None:
    found = run(source[0], tmp_path / "out", "--json")
    report = json.loads(found.stdout)
    assert report["path"] == str(tmp_path / "out")
    assert report["mags"][0]["voxels"] == 40 * 30 * 20
    assert report["notes"] == ["the source tells no voxel size; 1 nm is taken, give --voxel-size for another"]


def test_resuming_what_is_finished_says_so(source: Any, tmp_path: Path) -> None:
    assert run(source[0], tmp_path / "out").exit_code == 0
    again = run(source[0], tmp_path / "out", "--resume")
    assert again.exit_code == 0
    assert "Note: all was converted before; it was compared, and there is nothing to do.\n" in again.stdout
    other = run(source[0], tmp_path / "out", "--resume", "--to", "wkw")
    assert other.exit_code == 1
    assert "got what another conversion made (data_format is zarr3, not wkw)" in other.stderr


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--bbox", "1,2,3"), "got '1,2,3', expected six numbers x,y,z,width,height,depth"),
        (("--mags", "1,x"), "got '1,x', expected magnifications such as 1,2-2-1"),
        (("--voxel-size", "1,2"), "got '1,2', expected sizes such as 11.24,11.24,25 or 0.5mm"),
        (("--voxel-size", "3furlongs"), "got '3furlongs', expected sizes such as"),
        (("--memory", "much"), "got 'much', expected bytes, such as 1048576, 512M or 2GiB"),
        (("--downsample", "all"), "got 'all', expected a number or auto"),
        (("--offset", "1,2,-3"), "got '1,2,-3', expected three numbers x,y,z"),
        (("--layers", "a,,b"), "got 'a,,b', expected names such as color,segmentation"),
    ],
)
def test_options_that_are_not_understood(arguments: tuple[str, ...], text: str, tmp_path: Path) -> None:
    found = run("source", tmp_path / "out", *arguments)
    assert found.exit_code == 2
    assert text in " ".join(found.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            ("--codec", "zip"),
            "format: --codec: got 'zip', expected for zarr3 one of zstd, gzip, blosc, lz4, none",
        ),
        (("--level", "30"), "format: --level: got 30, expected -131072 to 22 for zstd"),
        (("--to", "wkw", "--level", "3"), "--level: got 3, expected none, since lz4hc has no levels"),
        (
            ("--to", "wkw", "--chunk", "24"),
            "--chunk: got 24, expected a number from 1 to 1024",
        ),
        (("--shard", "40"), "--shard: got 40, expected a multiple of the chunk's 32 up to 4096"),
        (("--downsample", "99"), "options: --downsample: got 99, expected 'auto' or 0 to 16"),
        (("--layer", "../up"), "options: --layer: got '../up', expected letters, digits"),
        (("--dtype", "text"), "--dtype: got 'text', expected one of uint8"),
        (("--dtype", "uint8", "--axes", "zz"), "axes: got 'zz' for shape (20, 30, 40), expected 3 different"),
    ],
)
def test_failures_are_one_line_without_a_traceback(
    source: Any, arguments: tuple[str, ...], text: str, tmp_path: Path
) -> None:
    found = run(source[0], tmp_path / "out", *arguments)
    assert found.exit_code == 1
    assert found.stderr.startswith("fastzarr: ")
    assert text in found.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("/d/layer: is the source itself; choose another dest or layer",
         "/d/layer: is the source itself; choose another DST or --layer"),
        ("/d/x: is there already; overwrite, or choose another layer",
         "/d/x: is there already; --overwrite, or choose another --layer"),
        ("/d: here; resume it, or overwrite to begin anew",
         "/d: here; --resume, or --overwrite to begin anew"),
        ("layer 'a': dtype: got f4, expected integers; choose dtype, or category 'color'",
         "layer 'a': dtype: got f4, expected integers; choose --dtype, or --category color"),
        ("x: got 1; choose another dtype, or cast 'round'",
         "x: got 1; choose another --dtype, or --cast round"),
        ("bounding_box: got b, expected a part of c", "--bbox: got b, expected a part of c"),
        ("/d: resume: 2 problems\n- dtype: got 1, expected 2\n- overwrite to begin anew",
         "/d: resume: 2 problems\n- --dtype: got 1, expected 2\n- --overwrite to begin anew"),
        ("/d: got a group with a below, expected an array; name one of these", None),
        ("/d/datasource-properties.json: 2 problems\n- name: got 1, expected text\n- layers: got 2", None),
    ],
)  # fmt: skip
def test_messages_name_the_options_of_the_command(message: str, text: str | None) -> None:
    assert option_names.told(message, option_names.of_command(convert)) == (text or message)


def test_a_layer_that_is_there_is_told_with_the_options(source: Any, tmp_path: Path) -> None:
    assert run(source[0], tmp_path / "out").exit_code == 0
    again = run(source[0], tmp_path / "out")
    assert again.exit_code == 1
    assert again.stderr.endswith(": is there already; --overwrite, or choose another --layer\n")


@pytest.mark.parametrize(
    ("name", "layer"),
    [("em.zarr", "em"), ("em.ome.zarr", "em"), ("em.ome", "em.ome"), ("em", "em"), (".zarr", "zarr")],
)
def test_a_layer_is_named_without_the_ending_of_its_directory(name: str, layer: str, tmp_path: Path) -> None:
    fastzarr.create_array(tmp_path / name, data=np.ones((4, 4, 4), "u1"))
    found = run(tmp_path / name, tmp_path / "out")
    assert found.exit_code == 0, found.output
    assert [each.name for each in properties.read(tmp_path / "out").layers] == [layer]


@pytest.mark.parametrize("places", [("a/1", "b/1", "b/2"), ("a", "b")])
def test_several_layers_of_wkw_without_a_document_are_told(places: tuple[str, ...], tmp_path: Path) -> None:
    for place in places:
        wkw.create(tmp_path / "in" / place, dtype="uint8", file_len=1)[:, :8, :8, :8] = 1
    found = run(tmp_path / "in", tmp_path / "out")
    assert found.exit_code == 1
    assert found.stderr == (
        f"fastzarr: {tmp_path}/in: got WKW in a, b and no datasource-properties.json, "
        f"expected one layer; convert one after the other, such as {tmp_path}/in/a\n"
    )
    for layer in "ab":
        assert run(tmp_path / "in" / layer, tmp_path / "out").exit_code == 0
    assert len(properties.read(tmp_path / "out").layers) == 2


def test_sizes_for_people() -> None:
    assert [readable(n) for n in (0, 1023, 1024, 3 << 19, 1 << 50)] == [
        "0 B",
        "1023 B",
        "1.0 KiB",
        "1.5 MiB",
        "1024.0 TiB",
    ]
