"""Files that are not what they should be raise and name the path: never zeros, never much memory."""

import os
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lz4.block
import numpy as np
import pytest
import wkw_layout as layout
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_paths import run_script, tree

import fastzarr
from fastzarr import wkw
from fastzarr.errors import ChunkError, MetadataError, NodeExistsError, NodeNotFoundError, ZarrError

BLOCKS = 8
SIZE = 16
"""Bytes of a decoded block: 2³ voxels of 2 bytes."""
START = {"raw": 16, "lz4": 16 + 8 * BLOCKS, "lz4hc": 16 + 8 * BLOCKS}
MIB = 1 << 20
VALUES = {*range(18), *(1 << bit for bit in range(8)), 0x22, 0x44, 0x55, 0x5A, 0xA0, 0xF0, 0x0F, 0xFE, 0xFF}
"""Of a byte of a header."""


def cube() -> layout.Volume:
    return np.arange(1, 65, dtype="u2").reshape(1, 4, 4, 4)


@pytest.fixture(params=layout.BLOCK_TYPES)
def block_type(request: Any) -> Any:
    return request.param


def build(root: Path, block_type: str) -> Path:
    """One file; its path."""
    layout.write(root, cube(), block_type=block_type)
    return layout.path_of(root, 0, 0, 0)


def outcome(call: Callable[[], Any], path: Path) -> Any:
    """What a call returns, or None where it raised as it should."""
    try:
        return call()
    except (ZarrError, OSError) as error:
        assert path.name in str(error), error
        return None


def assert_refused(root: Path, path: Path) -> None:
    """However it is read, and when a part of it is written, which leaves it as it was."""
    array = wkw.open(root, shape=(1, 4, 4, 4))
    before = path.read_bytes() if path.is_file() else None
    out = np.full((1, 4, 4, 4), 9, "u2")

    def wanted(call: Callable[[], Any]) -> None:
        with pytest.raises((ChunkError, OSError)) as caught:
            call()
        assert "z0/y0/x0.wkw" in str(caught.value)

    wanted(lambda: array[...])
    wanted(lambda: array.read_into(out))
    wanted(lambda: array.oindex[:, [0, 1, 2, 3], :, [0, 3]])
    wanted(lambda: array.read_chunks(np.argwhere(np.ones((1, 2, 2, 2)))))
    wanted(lambda: wkw.open(root, mode="r")[...])
    if before is not None:
        assert path.read_bytes() == before


def read(root: Path, path: Path) -> Any:
    return outcome(lambda: wkw.open(root, mode="r", shape=(1, 4, 4, 4))[...], path)


def test_it_is_whole_before_it_is_damaged(tmp_path: Path, block_type: Any, way: str) -> None:
    path = build(tmp_path / "a", block_type)
    np.testing.assert_array_equal(read(tmp_path / "a", path), cube())


def test_any_other_length(tmp_path: Path, block_type: Any, way: str) -> None:
    """Cut off anywhere, header and jump table too; or with more than belongs to it."""
    path = build(tmp_path / "a", block_type)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert_refused(tmp_path / "a", path)
    for more in (b"\0", b"x" * 16, bytes(5000)):
        path.write_bytes(whole + more)
        if block_type == "raw":
            assert_refused(tmp_path / "a", path)
        elif (found := read(tmp_path / "a", path)) is not None:
            np.testing.assert_array_equal(found, cube())


def test_every_byte_of_a_header(tmp_path: Path, block_type: Any, way: str) -> None:
    """Only the two compressed block types may stand for each other."""
    path = build(tmp_path / "a", block_type)
    whole = path.read_bytes()
    array = wkw.open(tmp_path / "a", shape=(1, 4, 4, 4))
    for place in range(16):
        for value in VALUES - {whole[place]}:
            path.write_bytes(whole[:place] + bytes([value]) + whole[place + 1 :])
            found = outcome(lambda: array[...], path)
            alike = block_type != "raw" and place == 5 and value in (2, 3)
            assert (found is not None) == alike, (place, value)
            if alike:
                np.testing.assert_array_equal(found, cube())


def test_every_byte_of_header_wkw(tmp_path: Path, block_type: Any, way: str) -> None:
    """What it says otherwise is refused, when it is opened or when a file doesn't agree."""
    path = build(tmp_path / "a", block_type)
    head = tmp_path / "a/header.wkw"
    whole = head.read_bytes()
    for place in range(16):
        for value in VALUES - {whole[place]}:
            head.write_bytes(whole[:place] + bytes([value]) + whole[place + 1 :])
            try:
                found = wkw.open(tmp_path / "a", mode="r", shape=(1, 4, 4, 4))[...]
            except (MetadataError, ChunkError) as error:
                assert any(word in str(error) for word in ("header.wkw", "x0.wkw", "shape", "block_len"))
            else:
                assert place >= 8 or (place == 5 and value in (1, 2, 3)), (place, value)
                np.testing.assert_array_equal(found, cube())
    head.write_bytes(whole)
    np.testing.assert_array_equal(read(tmp_path / "a", path), cube())


@pytest.mark.parametrize("length", [*range(16), 17, 4096])
def test_a_header_wkw_of_another_length(tmp_path: Path, length: int) -> None:
    build(tmp_path / "a", "raw")
    head = tmp_path / "a/header.wkw"
    head.write_bytes((head.read_bytes() + bytes(4096))[:length])
    if length < 16:
        with pytest.raises(MetadataError, match=r"header\.wkw"):
            wkw.open(tmp_path / "a")
    elif (found := outcome(lambda: wkw.open(tmp_path / "a")[...], head)) is not None:
        np.testing.assert_array_equal(found, cube())


@pytest.mark.parametrize("block_type", layout.COMPRESSED)
def test_jump_tables_that_can_not_be(tmp_path: Path, block_type: Any, way: str) -> None:
    path = build(tmp_path / "a", block_type)
    whole = path.read_bytes()
    ends = list(struct.unpack_from(f"<{BLOCKS}Q", whole, 16))
    impossible = [0, 1, 15, 16, 79, 2**31, 2**32 + ends[3], 2**40, 2**62, 2**63, 2**63 + ends[3], 2**64 - 1]
    impossible += [len(whole) + 1, len(whole) + 10**6, ends[3] - 1, ends[3] + 1]
    tables = [
        [*ends[:place], value, *ends[place + 1 :]]
        for place in range(BLOCKS)
        for value in [value for value in impossible if value != ends[place]]
    ]
    tables += [
        [*ends[:n], ends[n + 1], ends[n], *ends[n + 2 :]] for n in range(BLOCKS - 1)
    ]  # two out of order
    tables += [ends[::-1], [0] * BLOCKS, [ends[-1]] * BLOCKS, [80] * BLOCKS, [2**64 - 1] * BLOCKS]
    for table in tables:
        path.write_bytes(whole[:16] + struct.pack(f"<{BLOCKS}Q", *table) + whole[80:])
        assert_refused(tmp_path / "a", path)


@pytest.mark.parametrize("block_type", layout.COMPRESSED)
@pytest.mark.parametrize("number", [0, 3, 7])
def test_blocks_of_another_size(tmp_path: Path, block_type: Any, number: int, way: str) -> None:
    path = build(tmp_path / "a", block_type)
    parts = [lz4.block.compress(part, store_size=False) for part in layout.blocks(cube(), 2)]
    head = layout.header("uint16", block_len=2, file_len=2, block_type=block_type)
    path.write_bytes(layout.join(head, parts))
    np.testing.assert_array_equal(read(tmp_path / "a", path), cube())
    others = [lz4.block.compress(bytes(size), store_size=False) for size in (1, SIZE - 1, SIZE + 1, 10**7)]
    others += [b"", b"\0", b"\xff" * 20, parts[number][:-1], parts[number] + b"\0", bytes(1000)]
    others += [lz4.block.compress(bytes(SIZE), store_size=True)]
    for other in others:
        path.write_bytes(layout.join(head, [*parts[:number], other, *parts[number + 1 :]]))
        assert_refused(tmp_path / "a", path)


def test_no_more_memory_than_a_block_may_need(tmp_path: Path, way: str) -> None:
    """A file of 4 GiB, of holes, whose table gives all of it to one block."""
    path = build(tmp_path / "a", "lz4")
    end = 1 << 32
    whole = path.read_bytes()
    ends = list(struct.unpack_from(f"<{BLOCKS}Q", whole, 16))
    path.write_bytes(whole[:16] + struct.pack(f"<{BLOCKS}Q", *ends[:-1], end) + whole[80:])
    os.truncate(path, end)
    array = wkw.open(tmp_path / "a", shape=(1, 4, 4, 4))
    tracemalloc.start()
    try:
        with pytest.raises(ChunkError, match=r"x0\.wkw"):
            array[...]
        assert tracemalloc.get_traced_memory()[1] < MIB
    finally:
        tracemalloc.stop()


def test_no_more_memory_than_the_file_may_need(tmp_path: Path, way: str) -> None:
    """Headers of 512³ blocks per file, with little behind them, and one voxel asked for."""
    for number, block_type in enumerate(layout.BLOCK_TYPES):
        root = tmp_path / str(number)
        made = {"block_len": 2, "file_len": 512, "block_type": block_type}
        (root / "z0/y0").mkdir(parents=True)
        (root / "header.wkw").write_bytes(layout.header("uint16", **made))
        offset = 16 if block_type == "raw" else 16 + 8 * 512**3
        head = layout.header("uint16", **made, data_offset=offset)
        (root / "z0/y0/x0.wkw").write_bytes(head + bytes(100))
        tracemalloc.start()
        try:
            array = wkw.open(root, mode="r")
            with pytest.raises(ChunkError, match=r"x0\.wkw"):
                array[0, 1000, 5, 7]
            with pytest.raises(ChunkError, match=r"x0\.wkw"):
                array.read_chunks(np.array([[0, 511, 0, 0]]))
            assert tracemalloc.get_traced_memory()[1] < 4 * MIB
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("mode", ["part", "block", "all but one"])
@pytest.mark.parametrize("damage", ["empty", "short", "magic", "data offset or jump table"])
def test_writing_a_part_of_a_damaged_file(
    tmp_path: Path, block_type: Any, damage: str, mode: str, way: str
) -> None:
    """What is beside the part can't be kept: it is left as it is, for someone to look at."""
    path = build(tmp_path / "a", block_type)
    whole = path.read_bytes()
    damaged = {"empty": b"", "short": whole[:-1], "magic": b"wkw" + whole[3:]}
    place = 8 if block_type == "raw" else 16
    damaged["data offset or jump table"] = whole[:place] + b"\xff" * 8 + whole[place + 8 :]
    path.write_bytes(damaged[damage])
    array = wkw.open(tmp_path / "a", shape=(1, 4, 4, 4))
    box = {
        "part": np.s_[:, 1:3, 0:1, 3:4],
        "block": np.s_[:, 0:2, 0:2, 2:4],
        "all but one": np.s_[:, :, :, :3],
    }
    with pytest.raises((ChunkError, OSError), match=r"z0/y0/x0\.wkw"):
        array[box[mode]] = 7
    assert path.read_bytes() == damaged[damage]
    assert [p.name for p in path.parent.iterdir()] == ["x0.wkw"]


# One dataset for all examples, or thousands of directories would be made.
@settings(max_examples=300)
@given(changes=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=6))
@pytest.mark.parametrize("kind", layout.BLOCK_TYPES)
def test_any_bytes_changed_anywhere(
    tmp_path_factory: pytest.TempPathFactory, kind: str, changes: list[tuple[int, int]]
) -> None:
    """A block of other values can't be told from damage; all else raises, and nothing ends the process."""
    root = tmp_path_factory.getbasetemp() / f"changed-{kind}"
    path = layout.path_of(root, 0, 0, 0)
    data = bytearray(path.read_bytes() if path.exists() else build(root, kind).read_bytes())
    whole = bytes(data)
    for place, value in changes:
        data[place % len(data)] = value
    path.write_bytes(data)
    try:
        found = read(root, path)
        if found is not None:
            assert found.shape == (1, 4, 4, 4)
            assert all(data[n] == whole[n] or n == 5 or n >= START[kind] for n in range(16))
    finally:
        path.write_bytes(whole)


def test_other_things_in_place_of_a_file(tmp_path: Path, block_type: Any, way: str) -> None:
    path = build(tmp_path / "a", block_type)
    path.unlink()
    path.mkdir()
    assert_refused(tmp_path / "a", path)
    path.rmdir()
    path.symlink_to(path.name)
    assert_refused(tmp_path / "a", path)


def test_a_file_in_place_of_a_directory(tmp_path: Path, block_type: Any, way: str) -> None:
    """There is nothing below it, as in the stores of Zarr; and nothing can be written there."""
    build(tmp_path / "a", block_type)
    for place in ("z0/y1", "z1"):
        (tmp_path / "a" / place).write_bytes(b"other")
    before = tree(tmp_path / "a")
    array = wkw.open(tmp_path / "a", shape=(1, 4, 8, 8))
    for selection, path in ((np.s_[:, :, 4:, :4], "z0/y1"), (np.s_[:, :, :4, 4:], "z1")):
        assert not array[selection].any()
        with pytest.raises((ZarrError, OSError), match=path):
            array[selection] = 1
    assert tree(tmp_path / "a") == before
    np.testing.assert_array_equal(array[:, :, :4, :4], cube())


PIPE = """
import os, sys
import numpy as np
from fastzarr import wkw, errors
root = sys.argv[1]
path = f"{root}/z0/y0/x0.wkw"
os.remove(path)
os.mkfifo(path)
array = wkw.open(root, shape=(1, 4, 4, 4))
for call in (lambda: array[...], lambda: array.__setitem__(np.s_[:, :1], 1)):
    try:
        call()
    except (errors.ZarrError, OSError) as error:
        print("z0/y0/x0.wkw" in str(error))
"""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_in_place_of_a_file_keeps_nobody_waiting(tmp_path: Path, block_type: Any) -> None:
    build(tmp_path / "a", block_type)
    assert run_script(PIPE, tmp_path / "a", timeout=20) == "True\nTrue\n"


UNREADABLE = """
import os, shutil, sys, tempfile
import numpy as np
from fastzarr import wkw, errors
directory = tempfile.mkdtemp()
os.chmod(directory, 0o755)
root = f"{directory}/a"
shutil.copytree(sys.argv[1], root)
os.chmod(f"{root}/z0/y0/{sys.argv[2]}".rstrip("/"), 0)
array = wkw.open(root, shape=(1, 4, 4, 4))
if os.geteuid() == 0:
    os.seteuid(65534)
try:
    print(array[...].any())
except (errors.ZarrError, OSError) as error:
    print("z0/y0/x0.wkw" in str(error))
if os.getuid() == 0:
    os.seteuid(0)
os.chmod(f"{root}/z0/y0", 0o755)
shutil.rmtree(directory)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs permissions")
@pytest.mark.parametrize("place", ["x0.wkw", ""])
def test_a_file_that_may_not_be_read(tmp_path: Path, place: str, block_type: Any) -> None:
    build(tmp_path / "a", block_type)
    assert run_script(UNREADABLE, tmp_path / "a", place) == "True\n"


FOREIGN = (
    *("x0.wkw_tmp", "x0.wkw.tmp", "x9.wkw_tmp", "x8.wkw.tmp", "x1", "x.wkw", "x01.wkw", "x-1.wkw", "x+1.wkw"),
    *(
        "x1.wkw~",
        "y1.wkw",
        "x1.WKW",
        "X1.wkw",
        "x1_0.wkw",
        "x１.wkw",
        "x 1.wkw",
        "xff.wkw",
        ".x1.wkw",
        "1.wkw",
    ),
)


def test_foreign_files_are_not_looked_at(tmp_path: Path, block_type: Any, way: str) -> None:
    path = build(tmp_path / "a", block_type)
    for name in FOREIGN:
        (path.parent / name).write_bytes(b"other")
    for name in ("z01/y0", "z0/y01", "zz/y0", "z-1/y0", "z/y/", "Z3/y0", "z0/Y3", "z１/y0", "3/0"):
        (tmp_path / "a" / name).mkdir(parents=True)
        (tmp_path / "a" / name / "x0.wkw").write_bytes(b"other")
    for name in ("datasource-properties.json", "z0/note.txt", "z7", "z0/y7", "zarr.json"):
        (tmp_path / "a" / name).write_bytes(b"other")
    before = tree(tmp_path / "a")
    array = wkw.open(tmp_path / "a", mode="r")
    assert array.shape == (1, 4, 4, 4)
    np.testing.assert_array_equal(array[...], cube())
    array = wkw.open(tmp_path / "a")
    array[:, 1:2, 2:3, 3:4] = array[:, 1:2, 2:3, 3:4]
    after = tree(tmp_path / "a")
    assert {name for name in after if after[name] != before.get(name)} <= {"z0/y0/x0.wkw"}
    assert after.keys() == before.keys()


def test_what_is_no_dataset(tmp_path: Path) -> None:
    for place in (tmp_path / "nowhere", tmp_path):
        for mode in ("r", "r+"):
            with pytest.raises(NodeNotFoundError, match=str(place)):
                wkw.open(place, mode=mode)
    path = build(tmp_path / "a", "raw")
    (tmp_path / "a/header.wkw").unlink()
    with pytest.raises(NodeNotFoundError, match="a"):
        wkw.open(tmp_path / "a")
    with pytest.raises((NodeNotFoundError, OSError)):
        wkw.open(path)
    (tmp_path / "a/header.wkw").mkdir()
    with pytest.raises((ZarrError, OSError), match=r"header\.wkw"):
        wkw.open(tmp_path / "a")


@pytest.mark.parametrize("mode", ["w", "a", "w-", "rb", "", None])
def test_modes_that_there_are_not(tmp_path: Path, mode: Any) -> None:
    build(tmp_path / "a", "raw")
    before = tree(tmp_path / "a")
    with pytest.raises((ValueError, TypeError), match="mode"):
        wkw.open(tmp_path / "a", mode=mode)
    assert tree(tmp_path / "a") == before


def test_a_dataset_is_not_made_over_another(tmp_path: Path) -> None:
    build(tmp_path / "a", "lz4")
    before = tree(tmp_path / "a")
    with pytest.raises(NodeExistsError, match="a"):
        wkw.create(tmp_path / "a", dtype="u1")
    (tmp_path / "file").write_bytes(b"other")
    for place in (tmp_path / "file", tmp_path / "file/below"):
        with pytest.raises((ZarrError, OSError), match="file"):
            wkw.create(place, dtype="u1")
    assert tree(tmp_path / "a") == before
    assert (tmp_path / "file").read_bytes() == b"other"
    (tmp_path / "empty").mkdir()
    assert wkw.create(tmp_path / "empty", dtype="u1").shape == (1, 0, 0, 0)


def test_a_dataset_that_may_only_be_read(tmp_path: Path, block_type: Any) -> None:
    path = build(tmp_path / "a", block_type)
    before = tree(tmp_path)
    array = wkw.open(tmp_path / "a", mode="r")
    assert array.read_only
    assert not wkw.open(tmp_path / "a").read_only
    for selection in (np.s_[...], np.s_[0, 0, 0, 0], np.s_[:, 4:8, 0:4, 0:4], np.s_[:, 1:1]):
        with pytest.raises(fastzarr.errors.ReadOnlyError):
            array[selection] = 1
    assert tree(tmp_path) == before
    assert path.exists()


@pytest.mark.parametrize("place", ["z0/y0/x1.wkw", "z0/y1", "z1"])
def test_links_out_of_the_dataset(tmp_path: Path, block_type: Any, place: str, way: str) -> None:
    """Neither read nor written through; the dataset itself may be a link."""
    build(tmp_path / "a", block_type)
    build(tmp_path / "outside", block_type)
    link = tmp_path / "a" / place
    link.symlink_to(tmp_path / "outside" / {3: "z0/y0/x0.wkw", 2: "z0/y0", 1: "z0"}[place.count("/") + 1])
    before = tree(tmp_path / "outside")
    offset = {"z0/y0/x1.wkw": (4, 0, 0), "z0/y1": (0, 4, 0), "z1": (0, 0, 4)}[place]
    box = (slice(None), *(slice(n, n + 4) for n in offset))
    array = wkw.open(tmp_path / "a", shape=(1, 8, 8, 8))
    part = (slice(None), *(slice(n + 1, n + 2) for n in offset))
    for call in (lambda: array[box], lambda: array[part], lambda: array.__setitem__(part, 1)):
        with pytest.raises((ZarrError, OSError), match=place.rpartition("/")[2]):
            call()
    outcome(lambda: array.__setitem__(box, 1), link)  # of the whole file: may replace a link
    assert tree(tmp_path / "outside") == before
    (tmp_path / "linked").symlink_to("a")
    np.testing.assert_array_equal(wkw.open(tmp_path / "linked", shape=(1, 4, 4, 4))[...], cube())


def test_a_write_replaces_a_link_or_refuses(tmp_path: Path, block_type: Any, way: str) -> None:
    """Of the whole file, which needs nothing of what the link leads to."""
    build(tmp_path / "a", block_type)
    build(tmp_path / "outside", block_type)
    path = layout.path_of(tmp_path / "a", 0, 0, 0)
    path.unlink()
    path.symlink_to(tmp_path / "outside/z0/y0/x0.wkw")
    before = tree(tmp_path / "outside")
    array = wkw.open(tmp_path / "a", shape=(1, 4, 4, 4))
    if outcome(lambda: array.__setitem__(..., 5) or True, path):
        assert not path.is_symlink()
        assert (array[...] == 5).all()
    assert tree(tmp_path / "outside") == before


def test_hard_links_are_not_written_through(tmp_path: Path, block_type: Any, way: str) -> None:
    """A backup made of links keeps what it had, or the write says that it can't."""
    path = build(tmp_path / "a", block_type)
    os.link(path, tmp_path / "backup")
    before = path.read_bytes()
    array = wkw.open(tmp_path / "a")
    array[:, 1:2, 1:2, 1:2] = 999
    assert array[0, 1, 1, 1] == 999
    if block_type != "raw":
        assert (tmp_path / "backup").read_bytes() == before
