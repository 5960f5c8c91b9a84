"""What lies in the place of chunks may be anything: both paths give the right data or the same error."""

import contextlib
import os
import resource
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import crc32c
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_paths import needs_kernel, tree, without_kernel
from oracle import bits

import fastzarr
from fastzarr.errors import ZarrError

pytestmark = needs_kernel

DATA = (np.arange(24 * 30, dtype="<i4") // 5 + 1).reshape(24, 30)

LAYOUTS: dict[str, dict[str, Any]] = {
    "none": {"chunks": (8, 10), "compressors": None},
    "zstd": {"chunks": (8, 10), "compressors": {"name": "zstd", "configuration": {"level": 3}}},
    "zstd checksum": {
        "chunks": (8, 10),
        "compressors": {"name": "zstd", "configuration": {"level": 1, "checksum": True}},
    },
    **{
        f"blosc {cname} {shuffle}": {
            "chunks": (8, 10),
            "compressors": {
                "name": "blosc",
                "configuration": {"cname": cname, "clevel": 5, "shuffle": shuffle, "blocksize": blocksize},
            },
        }
        for cname, shuffle, blocksize in [
            ("lz4", "shuffle", 0),
            ("blosclz", "bitshuffle", 128),
            ("zlib", "noshuffle", 0),
            ("zstd", "shuffle", 64),
        ]
    },
    "shards": {"chunks": (4, 5), "shards": (8, 10), "compressors": None},
    "shards zstd": {"chunks": (4, 5), "shards": (8, 10)},
    "shards blosc, index first": {
        "chunks": (4, 5),
        "shards": {"shape": (8, 10), "index_location": "start"},
        "compressors": {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5}},
    },
}
SELECTIONS: list[Any] = [np.s_[...], np.s_[::3, ::-2], np.s_[9:15, 11:19], np.s_[8, :], np.s_[8:16, 10:20]]


def outcome(call: Callable[[], Any], *, named: str = "c/") -> Any:
    """The bits that a call returns, or what it raises: the kind of error and the key it names."""
    try:
        found = call()
    except (ZarrError, OSError) as error:
        assert named in str(error), error
        return type(error), getattr(error, "key", None), getattr(error, "errno", None)
    return None if found is None else bits(found)


def both(root: Path, **config: Any) -> tuple[fastzarr.Array, fastzarr.Array]:
    """The array, opened for the kernel and for Python alone."""
    ours = fastzarr.open_array(root, mode="r+", config=config)
    with without_kernel():
        return ours, fastzarr.open_array(root, mode="r+", config=config)


@st.composite
def damages(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    """What is done to the bytes of a file."""
    kind = draw(st.sampled_from(["cut", "longer", "other", "flipped", "flipped", "replaced", "replaced"]))
    place, more = draw(st.floats(0, 1)), draw(st.binary(min_size=1, max_size=12))
    near_end, flips = draw(st.booleans()), draw(st.lists(st.floats(0, 1), min_size=1, max_size=4))

    def damage(data: bytes) -> bytes:
        at = int(place * len(data))
        if kind == "cut":
            return data[:at]
        if kind == "longer":
            return data + more
        if kind == "other":
            return more * int(place * 3 * len(data) / len(more))
        changed = bytearray(data)
        if kind == "flipped":
            for flip in flips:
                bit = min(int(flip * 8 * len(data)), 8 * len(data) - 1)
                changed[bit >> 3] ^= 1 << (bit & 7)
        else:
            at = max(0, len(data) - int(place * 70)) if near_end else int(place * 24)
            changed[at : at + len(more)] = more[: len(data) - at]
        return bytes(changed)

    return damage


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    roots = {}
    for name, layout in LAYOUTS.items():
        roots[name] = tmp_path_factory.mktemp("stored") / "array"
        array = fastzarr.create_array(roots[name], shape=DATA.shape, dtype=DATA.dtype, **layout)
        array[...] = DATA
    return roots


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=120, derandomize=True)
@given(damage=damages(), index_kept=st.booleans())
def test_damaged_files(
    layout: str, damage: Callable[[bytes], bytes], index_kept: bool, stored: dict[str, Path]
) -> None:
    """Where damage is not seen, in bytes that no checksum covers, both give the same."""
    path = stored[layout] / "c/1/1"
    sound = path.read_bytes()
    ours, pure = both(stored[layout], threads=1)
    if index_kept:
        ours[9:15, 11:19]
    damaged = damage(sound)
    try:
        path.write_bytes(damaged)
        for selection in SELECTIONS:
            found = outcome(lambda selection=selection: ours[selection])
            assert found == outcome(lambda selection=selection: pure[selection])
            if damaged == sound:
                assert found == bits(DATA[selection])
            elif layout == "zstd checksum" or (len(damaged) != len(sound) and "shards" not in layout):
                assert found[1] == "c/1/1", "an error, and no data"
        assert path.read_bytes() == damaged, "reading changes nothing"
    finally:
        path.write_bytes(sound)


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=25, derandomize=True)
@given(damage=damages())
def test_writing_over_and_into_damaged_files(layout: str, damage: Callable[[bytes], bytes]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        roots = Path(directory, "ours"), Path(directory, "pure")
        for root in roots:
            array = fastzarr.create_array(root, shape=DATA.shape, dtype=DATA.dtype, **LAYOUTS[layout])
            array[...] = DATA
            path = root / "c/1/1"
            path.write_bytes(damage(path.read_bytes()))
        ours, pure = both(roots[0])[0], both(roots[1])[1]
        for selection in (np.s_[9:20, 13:28], np.s_[8:12, 10:20], np.s_[4:20, 5:25], np.s_[:16, :20]):
            found = outcome(lambda selection=selection: ours.__setitem__(selection, -7))
            assert found == outcome(lambda selection=selection: pure.__setitem__(selection, -7))
            if found is not None:  # other chunks may be written or not
                break
            assert outcome(lambda: ours[...]) == outcome(lambda: pure[...])
        ours[:16, :20] = -7
        assert (ours[:16, :20] == -7).all(), "chunks and shards written whole don't need the old ones"


def in_the_place_of(path: Path, kind: str, outside: Path) -> None:
    """Put something else where a file or a directory was."""
    aside = path.with_name("aside")
    path.rename(aside)
    match kind:
        case "nothing":
            return
        case "directory":
            path.mkdir()
        case "full directory":
            path.mkdir()
            (path / "file").write_bytes(b"1")
        case "file":
            path.write_bytes(b"x" * 7)
        case "fifo":
            os.mkfifo(path)
        case "socket":
            here = Path.cwd()
            os.chdir(path.parent)  # the names of sockets are short
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(path.name)
            os.chdir(here)
        case "link to itself":
            path.symlink_to(path.name)
        case "link to nothing":
            path.symlink_to("nowhere")
        case "link inside":
            path.symlink_to("aside")
        case "link outside":
            aside.rename(outside / "aside")
            path.symlink_to(outside / "aside")
        case "link to nothing outside":
            path.symlink_to(outside / "nowhere")
        case "link to a device":
            path.symlink_to("/dev/zero")


KINDS = (
    *(
        "nothing",
        "directory",
        "full directory",
        "file",
        "fifo",
        "socket",
        "link to itself",
        "link to nothing",
    ),
    *("link inside", "link outside", "link to nothing outside", "link to a device"),
)
CALLS: dict[str, Callable[[fastzarr.Array], Any]] = {
    "read": lambda array: array[...],
    "read a part": lambda array: array[9:21, 11:28],
    "write": lambda array: array.__setitem__(..., DATA + 1),
    "write fill values": lambda array: array.__setitem__(..., 0),
    "write a part": lambda array: array.__setitem__(np.s_[9:21, 11:28], -DATA[9:21, 11:28]),
}


@pytest.mark.parametrize("layout", ["none", "zstd", "shards", "shards zstd"])
@pytest.mark.parametrize("place", ["c/1/1", "c/1", "c"])
@pytest.mark.parametrize("kind", KINDS)
def test_other_things_in_the_place_of_files_and_directories(
    tmp_path: Path, kind: str, place: str, layout: str
) -> None:
    template = tmp_path / "template"
    fastzarr.create_array(template, shape=DATA.shape, dtype=DATA.dtype, **LAYOUTS[layout])[...] = DATA
    for number, call in enumerate(CALLS.values()):
        found = []
        for path in ("ours", "pure"):
            directory = tmp_path / f"{path}{number}"
            root, outside = directory / "root" / "array", directory / "outside"
            outside.mkdir(parents=True)
            shutil.copytree(template, root)
            in_the_place_of(root / place, kind, outside)
            before = tree(outside)
            array = both(root, threads=1)[path == "pure"]
            result = outcome(lambda array=array, call=call: call(array))
            assert tree(outside) == before, "nothing outside of the root is written"
            left = {name: link.replace(str(directory), "") for name, link in tree(root).items()}
            found.append((result, left))
        ours, pure = found
        assert ours[0] == pure[0]
        assert not any(name.endswith(".partial") for name in ours[1])
        if ours[0] is None or isinstance(
            ours[0], bytes
        ):  # after an error, other chunks may be written or not
            assert ours[1].keys() == pure[1].keys()
            assert layout.endswith("zstd") or ours[1] == pure[1]


@pytest.mark.parametrize("call", CALLS)
def test_a_link_in_place_of_the_root_after_it_was_opened(tmp_path: Path, call: str) -> None:
    outside = tmp_path / "outside"
    root = tmp_path / "inside" / "array"
    for made in (root, outside):
        fastzarr.create_array(made, shape=DATA.shape, dtype=DATA.dtype, **LAYOUTS["none"])[...] = DATA
    shutil.rmtree(outside / "c/0")
    arrays = both(root)
    root.rename(tmp_path / "moved")
    root.symlink_to(outside)
    before = tree(outside)
    results = [outcome(lambda array=array: CALLS[call](array), named=str(root)) for array in arrays]
    assert results[0] == results[1]
    assert not isinstance(results[0], bytes)
    assert tree(outside) == before


@contextlib.contextmanager
def no_more_files() -> Iterator[None]:
    """The process can't open another file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("layout", ["none", "zstd", "shards", "shards zstd"])
@pytest.mark.parametrize("call", [name for name in CALLS if name != "write fill values"])
def test_what_can_not_be_opened_is_no_missing_chunk(tmp_path: Path, call: str, layout: str) -> None:
    array = fastzarr.create_array(tmp_path, shape=DATA.shape, dtype=DATA.dtype, **LAYOUTS[layout])
    array[...] = DATA
    before = tree(tmp_path)
    with no_more_files(), pytest.raises(OSError, match=r"[Tt]oo many open files.*c/"):
        CALLS[call](array)
    assert tree(tmp_path) == before
    assert (array[...] == DATA).all()


@contextlib.contextmanager
def nobody() -> Iterator[None]:
    """Not to be root, who may read all files."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        if user == 0:
            os.seteuid(user)


def test_what_may_not_be_read_is_no_missing_chunk() -> None:
    with tempfile.TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        array = fastzarr.create_array(made, shape=DATA.shape, dtype=DATA.dtype, **LAYOUTS["none"])
        array[...] = DATA
        (Path(made) / "c/1/1").chmod(0)
        with nobody(), pytest.raises(PermissionError, match="c/1/1"):
            array[...]


@pytest.mark.parametrize("index_kept", [False, True])
@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name.startswith("shards")])
def test_inner_chunks_that_reach_into_the_index_or_beyond_the_shard(
    tmp_path: Path, layout: str, index_kept: bool
) -> None:
    """Bytes of the index are none of an inner chunk, though there are enough of them."""
    array = fastzarr.create_array(tmp_path, shape=DATA.shape, dtype=DATA.dtype, **LAYOUTS[layout])
    array[...] = DATA
    path = tmp_path / "c/1/1"
    sound = path.read_bytes()
    at_end = "first" not in layout
    begin = len(sound) - 4 * 16 - 4 if at_end else 0
    index = np.frombuffer(sound[begin : begin + 4 * 16], "<u8").reshape(4, 2)
    for entry, reach in ((0, 4), (3, 1), (3, len(sound)), (2, 2**62), (1, 2**64 - 1 - len(sound))):
        changed = index.copy()
        end = begin if at_end else len(sound)
        changed[entry, 0] = (end + reach - int(index[entry, 1])) % 2**64
        data = changed.tobytes()
        checksum = crc32c.crc32c(data).to_bytes(4, "little")
        path.write_bytes(sound[:begin] + data + checksum + sound[begin + len(data) + 4 :])
        os.utime(path, (1, 1))
        results = []
        for opened in both(tmp_path, threads=1):
            if index_kept:
                outcome(partial(opened.__getitem__, np.s_[8:9, 10:11]))
            results.append([outcome(partial(opened.__getitem__, selection)) for selection in SELECTIONS])
        assert results[0] == results[1]
        assert results[0][0][1] == "c/1/1"
