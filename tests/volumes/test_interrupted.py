"""Conversions that are killed at any time: nothing looks complete, and what resumes them ends equal."""

import json
import random
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle import assert_same
from volume_oracles import python, read_by_webknossos, smooth

import fastzarr
from fastzarr import wkw
from fastzarr.errors import MetadataError, NodeExistsError, NodeNotFoundError
from fastzarr.volumes import Format, conversion, convert, properties, staging, transfer
from fastzarr.volumes.transfer import VerifyError

CONVERTING = Path(__file__).with_name("converting.py")


class Stopped(Exception):  # noqa: N818
    """Stands for a kill at a chosen point."""


def files(root: Path) -> dict[str, bytes]:
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def same_but_name(first: Path, second: Path) -> None:
    """Every file of two datasets is equal, but for the name of the dataset."""
    one, other = files(first), files(second)
    documents = [json.loads(found.pop(properties.DOCUMENT)) for found in (one, other)]
    assert [document["id"].pop("name") for document in documents] == [first.name, second.name]
    assert documents[0] == documents[1]
    assert one.keys() == other.keys()
    assert one == other


def assert_nothing_looks_complete(dest: Path) -> None:
    """No reader takes what is there for a dataset, a group or an array."""
    with pytest.raises(NodeNotFoundError):
        properties.read(dest)
    with pytest.raises(NodeNotFoundError):
        fastzarr.open(dest, mode="r")
    assert [path.name for path in dest.iterdir()] == [".convert"]


@pytest.mark.parametrize("to", ["wkw", "zarr2", "zarr3"])
def test_killed_at_random_times_and_resumed(to: str, tmp_path: Path) -> None:
    values = smooth((1, 100, 60, 60), "u2")
    source = tmp_path / "source.zarr"
    fastzarr.create_array(source, data=values, chunks=(1, 32, 32, 32), dimension_names=["c", "x", "y", "z"])
    options: dict[str, Any] = {
        "format": {"to": to, "chunk": 8, "shard": 32},
        "downsample": 2,
        "layer": "a",
        "voxel_size": [1, 1, 1],
        "memory": 1 << 20,
        "workers": 2,
        "resume": True,
    }
    expected = tmp_path / "expected"
    command = python(CONVERTING, source, expected, json.dumps(options))
    begun = time.monotonic()
    subprocess.run(command, check=True, capture_output=True, timeout=100)
    lasts = time.monotonic() - begun
    dest = tmp_path / "killed"
    command = python(CONVERTING, source, dest, json.dumps(options))
    times = random.Random(to)
    for _ in range(4):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            process.wait(times.uniform(0.3, 1) * lasts)
        except subprocess.TimeoutExpired:
            process.kill()
        _, error = process.communicate()
        if process.returncode == 0:
            break
        assert process.returncode == -9, error
        if (dest / properties.DOCUMENT).exists() and not (dest / ".convert/job.json").exists():
            shutil.rmtree(dest / ".convert", ignore_errors=True)  # it was tidying up
            break
        if not (dest / properties.DOCUMENT).exists() and not (dest / ".convert/finished.json").exists():
            assert_nothing_looks_complete(dest) if dest.exists() else None
    else:
        subprocess.run(command, check=True, capture_output=True, timeout=100)
    same_but_name(expected, dest)
    assert not (dest / ".convert").exists()


@pytest.mark.parametrize("to", ["wkw", "zarr2", "zarr3"])
def test_stopped_after_each_step_of_the_end(to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the last piece and the removal of what was needed meanwhile."""
    values = smooth((1, 20, 20, 20), "u1")
    options: dict[str, Any] = {
        "axes": "cxyz",
        "format": Format(to=to, chunk=8, shard=16),
        "voxel_size": (1, 1, 1),
    }
    convert(values, tmp_path / "expected", **options)

    def stop(*_: object, **__: object) -> None:
        raise Stopped

    places: list[tuple[object, str]] = [
        (conversion.Stage, "finish"),
        (conversion.Stage, "place"),
        (staging.Path, "rename"),
        (staging.properties, "write"),
        (staging, "merged"),
    ]
    for number, (owner, name) in enumerate(places):
        dest = tmp_path / str(number)
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, stop)
            with pytest.raises(Stopped):
                convert(values, dest, **options)
        with pytest.raises(NodeNotFoundError):
            properties.read(dest)
        with pytest.raises(
            NodeExistsError, match="an interrupted conversion is here; resume it, or overwrite"
        ):
            convert(values, dest, **options)
        convert(values, dest, resume=True, **options)
        same_but_name(tmp_path / "expected", dest)


@pytest.mark.parametrize("to", ["wkw", "zarr2", "zarr3"])
@pytest.mark.parametrize("memory", [200_000, 1 << 30])
def test_pieces_left_are_verified_not_assumed(
    to: str, memory: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right ones are kept; those that are truncated, other data or missing are written anew."""
    values = smooth((1, 96, 64, 64), "u1") | 1
    options: dict[str, Any] = {
        "axes": "cxyz",
        "format": Format(to=to, chunk=8, shard=32),
        "voxel_size": (1, 1, 1),
        "memory": memory,
        "workers": 2,
    }
    convert(values, tmp_path / "expected", **options)

    def stop(*_: object) -> None:
        raise Stopped

    dest = tmp_path / "stopped"
    with monkeypatch.context() as patched:
        patched.setattr(conversion.Stage, "finish", stop)
        with pytest.raises(Stopped):
            convert(values, dest, **options)
    assert_nothing_looks_complete(dest)
    below = dest / ".convert/layers/color/1"
    written = sorted(
        p
        for p in below.rglob("*")
        if p.is_file() and p.name not in ("header.wkw", "zarr.json", ".zarray", ".zattrs")
    )
    written[0].write_bytes(written[0].read_bytes()[:-5])
    written[-1].write_bytes(written[len(written) // 2].read_bytes())
    written[1].unlink()
    report = convert(values, dest, resume=True, **options)
    (mag,) = report.mags
    assert mag.replaced >= 1
    assert mag.kept > 0 or to == "zarr2"
    same_but_name(tmp_path / "expected", dest)


def test_resuming_asks_for_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = smooth((1, 20, 20, 20), "u1")

    def stop(*_: object) -> None:
        raise Stopped

    with monkeypatch.context() as patched:
        patched.setattr(conversion.Stage, "finish", stop)
        with pytest.raises(Stopped):
            convert(values, tmp_path / "out", axes="cxyz")
    with pytest.raises(MetadataError) as caught:
        convert(values, tmp_path / "out", axes="cxyz", resume=True, dtype="uint16", format=Format(to="wkw"))
    assert "dtype: got 'uint16', expected None as before it was interrupted" in caught.value.problems
    assert "to: got 'wkw', expected 'zarr3' as before it was interrupted" in caught.value.problems
    convert(values, tmp_path / "out", axes="cxyz", overwrite=True, dtype="uint16", format=Format(to="wkw"))
    assert properties.read(tmp_path / "out").layers[0].dtype == np.uint16


@pytest.mark.parametrize("to", ["wkw", "zarr2", "zarr3"])
def test_resuming_what_is_finished(to: str, tmp_path: Path) -> None:
    """It is compared, and left as it is; what is not the same is refused."""
    values = smooth((1, 50, 40, 33), "u1") | 1
    dest = tmp_path / "out"
    options: dict[str, Any] = {
        "axes": "cxyz",
        "format": Format(to=to, chunk=8, shard=16),
        "voxel_size": (1, 1, 1),
        "downsample": 1,
        "resume": True,
    }
    first = convert(values, dest, **options)
    before = files(dest)
    again = convert(values, dest, memory=1 << 24, **options)
    assert "all was converted before; it was compared, and there is nothing to do" in again.notes
    assert [(mag.mag, mag.nbytes_stored) for mag in again.mags] == [
        (mag.mag, mag.nbytes_stored) for mag in first.mags
    ]
    assert all(mag.kept and not mag.written for mag in again.mags)
    other = values.copy()
    other[0, 20, 20, 20] += 1
    for given, change, text in (
        (other, {}, r"voxels from .* differ from color/1"),
        (values, {"downsample": 2}, r"mags is \['1', '2'\], not \['1', '2', '4'\]"),
        (values, {"dtype": "uint16"}, "dtype is uint8, not uint16"),
        (values, {"category": "segmentation"}, "category is color, not segmentation"),
        (values, {"format": Format(to=to, chunk=16, shard=16)}, "color/1/|1/.* tells of another layout"),
        (values, {"format": Format(to="zarr2" if to == "wkw" else "wkw")}, "data_format is "),
    ):
        with pytest.raises(NodeExistsError, match=text) as caught:
            convert(given, dest, **(options | change))
        assert "overwrite, or choose another layer" in str(caught.value)
    with pytest.raises(NodeExistsError, match="is there already"):
        convert(values, dest, **(options | {"resume": False}))
    assert files(dest) == before
    below = dest / "color/1"
    chunk = next(path for path in below.rglob("*") if path.is_file() and path.parent != below)
    chunk.unlink()
    with pytest.raises(NodeExistsError, match=r"voxels from .* differ"):
        convert(values, dest, **options)


@pytest.mark.parametrize("name", ["job.json", "finished.json"])
@pytest.mark.parametrize("text", ["{", "[]"])
def test_damaged_documents_of_an_interrupted_conversion(name: str, text: str, tmp_path: Path) -> None:
    values = smooth((1, 20, 20, 20), "u1")
    stage = tmp_path / "out/.convert"
    stage.mkdir(parents=True)
    (stage / "job.json").write_text("{}")
    (stage / name).write_text(text)
    with pytest.raises(MetadataError, match=rf"{name}: got .*; overwrite to begin anew"):
        convert(values, tmp_path / "out", resume=True)
    assert (stage / name).read_text() == text
    convert(values, tmp_path / "out", overwrite=True)
    assert not stage.exists()


def test_failed_read_keeps_what_was_written(tmp_path: Path) -> None:
    array = wkw.create(tmp_path / "em/1", dtype="u1", block_len=8, file_len=2, block_type="lz4")
    array[:, :64, :16, :16] = smooth((1, 64, 16, 16), "u1") | 1
    file = tmp_path / "em/1/z0/y0/x3.wkw"
    whole = file.read_bytes()
    file.write_bytes(whole[:-3])
    chosen = Format(chunk=8, shard=16)
    with pytest.raises(fastzarr.errors.ChunkError, match=r"x3.wkw"):
        convert(tmp_path / "em", tmp_path / "out", format=chosen, workers=1)
    assert_nothing_looks_complete(tmp_path / "out")
    file.write_bytes(whole)
    report = convert(tmp_path / "em", tmp_path / "out", format=chosen, resume=True)
    assert (report.mags[0].kept, report.mags[0].written) == (3, 1)
    assert_same(fastzarr.open_array(tmp_path / "out/em/1")[:, :64, :16, :16], array[...])


def test_overwritten_layer_stays_until_the_new_one_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = smooth((1, 20, 20, 20), "u1"), smooth((1, 20, 20, 20), "u1", 1)
    convert(first, tmp_path, axes="cxyz", format=Format(shard=32))

    def stop(*_: object) -> None:
        raise Stopped

    with monkeypatch.context() as patched:
        patched.setattr(conversion.Stage, "finish", stop)
        with pytest.raises(Stopped):
            convert(second, tmp_path, axes="cxyz", format=Format(shard=32), overwrite=True)
    assert_same(fastzarr.open_array(tmp_path / "color/1")[:, :20, :20, :20], first)
    convert(second, tmp_path, axes="cxyz", format=Format(shard=32), overwrite=True, resume=True)
    assert_same(fastzarr.open_array(tmp_path / "color/1")[:, :20, :20, :20], second)


def test_two_conversions_do_not_write_to_the_same_place(tmp_path: Path) -> None:
    with (
        staging.Stage(tmp_path / "out").locked(),
        pytest.raises(NodeExistsError, match="another conversion is writing to it now"),
    ):
        convert(np.ones((3, 3, 3), "u1"), tmp_path / "out")


@pytest.mark.parametrize("to", ["wkw", "zarr2", "zarr3"])
@pytest.mark.parametrize("memory", [200_000, 1 << 30])
def test_what_is_read_back_wrong_is_told(
    to: str, memory: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = transfer.Target.reader

    def wrong(target: Any, threads: int = 1) -> Any:
        voxels = real(target, threads)
        changed = np.asarray(voxels.array[...])
        changed[0, 40, 3, 3] ^= 1
        return conversion.replace(voxels, array=changed)

    monkeypatch.setattr(transfer.Target, "reader", wrong)
    options: dict[str, Any] = {
        "axes": "cxyz",
        "format": Format(to=to, chunk=8, shard=32),
        "memory": memory,
        "workers": 2,
    }
    values = smooth((1, 64, 30, 30), "u1") | 1
    with pytest.raises(VerifyError, match=r"read back with checksum \w{8}, expected \w{8}"):
        convert(values, tmp_path / "out", **options)
    assert_nothing_looks_complete(tmp_path / "out")
    convert(values, tmp_path / "none", verify="none", **options)
    with pytest.raises(VerifyError, match="differ from color/1"):
        _full_only(values, tmp_path / "full", monkeypatch, options)


def _full_only(values: Any, dest: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]) -> None:
    """With only the last comparison of "full" left to find what is wrong."""
    monkeypatch.setattr(transfer.Transfer, "_verified", lambda *_: None)
    convert(values, dest, verify="full", **options)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc, which tells the memory taken")
@pytest.mark.parametrize("to", ["wkw", "zarr3", "zarr2"])
def test_memory_is_bounded(to: str, tmp_path: Path) -> None:
    """Of one file, or shard, of 40 MiB, with a pyramid; twice the bound leaves room for the allocator."""
    values = smooth((1, 288, 288, 256), "u2")
    source = tmp_path / "source.zarr"
    fastzarr.create_array(source, data=values, chunks=(1, 32, 32, 32), dimension_names=["c", "x", "y", "z"])
    options = {"format": {"to": to, "shard": 512}, "memory": 12 << 20, "workers": 2, "downsample": 1}
    command = python(CONVERTING, source, tmp_path / "out", json.dumps(options))
    done = subprocess.run(command, check=True, capture_output=True, timeout=100)
    kibibytes = int(done.stdout)
    assert kibibytes < 24 << 10, f"{kibibytes / 1024:.0f} MiB"
    assert values.nbytes > 40 << 20


@pytest.mark.parametrize("to", ["wkw", "zarr2", "zarr3"])
def test_webknossos_reads_the_same(to: str, tmp_path: Path) -> None:
    rgb, seg = smooth((3, 40, 33, 20), "u1"), (smooth((1, 40, 33, 20), "u4") % 1000)[0]
    common: dict[str, Any] = {"voxel_size": (11.24, 11.24, 25.0), "offset": (10, 20, 30), "downsample": 1}
    chosen = Format(to=to, shard=64)
    convert(rgb, tmp_path / "out", axes="cxyz", layer="rgb", format=chosen, **common)
    convert(seg, tmp_path / "out", axes="xyz", layer="seg", category="segmentation", format=chosen, **common)
    convert(seg.astype("f4"), tmp_path / "out", axes="xyz", layer="float", format=chosen, **common)
    told = read_by_webknossos(tmp_path / "out", tmp_path)
    assert told["voxel_size"] == [11.24, 11.24, 25.0]
    for name, values in (("rgb", rgb), ("seg", seg[None]), ("float", seg[None].astype("f4"))):
        layer = told["layers"][name]
        assert layer["box"] == [[10, 20, 30], [40, 33, 20]]
        assert (layer["dtype"], layer["channels"]) == (str(values.dtype), values.shape[0])
        assert_same(layer["mags"]["1"], values)
        half = fastzarr.open_array if to != "wkw" else wkw.open
        found = half(tmp_path / "out" / name / "2-2-1", mode="r")
        assert_same(layer["mags"]["2-2-1"], found[:, 5:25, 10:27, 30:50])
    assert told["layers"]["seg"]["category"] == "segmentation"
    assert told["layers"]["seg"]["largest"] == seg.max()
