"""The kernel refuses arguments that don't fit each other, before it reads or writes any memory."""

import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_paths import needs_kernel
from numpy.typing import NDArray

pytestmark = needs_kernel

Arguments = dict[str, Any]

NAMES = ("array", "writable", "dimensions", "fill", "elide", "fill_missing", "codec", "files", "shard")


def fitting(root: str = "/nowhere") -> Arguments:
    """Of 6 x 4 elements of 2 bytes in chunks of 3 x 2."""
    return {
        "array": np.zeros((6, 4), "V2"),
        "writable": True,
        "dimensions": dimensions((0, 6, 1, 6, 3, 6, 4), (0, 4, 1, 4, 2, 4, 2)),
        "fill": b"\0\0",
        "elide": False,
        "fill_missing": True,
        "codec": None,
        "files": (os.fsencode(root), os.fsencode(f"{root}/"), b"c/%d/%d", b"run"),
        "shard": None,
    }


def dimensions(*numbers: tuple[int, ...]) -> bytes:
    """Start, stop, step, length, chunk size, array size and stride in the chunk of each dimension."""
    return b"".join(struct.pack("7q", *of_one) for of_one in numbers)


def transfer(**arguments: Any) -> Any:
    from fastzarr._kernel import Transfer

    given = fitting() | arguments
    return Transfer(*[given[name] for name in NAMES])


def first(*numbers: int) -> bytes:
    """Dimensions of which the first one is another."""
    return dimensions(numbers, (0, 4, 1, 4, 2, 4, 2))


def read_only() -> NDArray[Any]:
    array = np.zeros((6, 4), "V2")
    array.flags.writeable = False
    return array


MOST, LEAST = 2**63 - 1, -(2**63)
INDEX = np.zeros((2, 2, 2), "u8")

REFUSED: dict[str, Arguments] = {
    "no buffer": {"array": None},
    "objects": {"array": object()},
    "read only": {"array": read_only()},
    "no dimensions": {"array": np.zeros((), "V2"), "dimensions": b""},
    "33 dimensions": {
        "array": np.zeros((1,) * 33, "V2"),
        "dimensions": dimensions(*[(0, 1, 1, 1, 1, 1, 2)] * 33),
    },
    "too few numbers": {"dimensions": fitting()["dimensions"][:-8]},
    "too many numbers": {"dimensions": fitting()["dimensions"] + bytes(8)},
    "half a number": {"dimensions": fitting()["dimensions"][:-1]},
    "numbers as text": {"dimensions": "0"},
    "step 0": {"dimensions": first(0, 6, 0, 6, 3, 6, 4)},
    "step back": {"dimensions": first(5, -1, -1, 6, 3, 6, 4)},
    "step beyond a chunk": {"dimensions": first(0, 6, 4, 2, 3, 6, 4), "array": np.zeros((2, 4), "V2")},
    "chunk 0": {"dimensions": first(0, 6, 1, 6, 0, 6, 4)},
    "chunk -1": {"dimensions": first(0, 6, 1, 6, -1, 6, 4)},
    "chunk least": {"dimensions": first(0, 6, 1, 6, LEAST, 6, 4)},
    "chunk most": {"dimensions": first(0, 6, 1, 6, MOST, 6, 4)},
    "start -1": {"dimensions": first(-1, 5, 1, 6, 3, 6, 4)},
    "start least": {"dimensions": first(LEAST, 6, 1, 6, 3, 6, 4)},
    "start most": {"dimensions": first(MOST, MOST, 1, 6, 3, MOST, 4)},
    "stop beyond the array": {"dimensions": first(0, 7, 1, 6, 3, 6, 4)},
    "stop before the last": {"dimensions": first(0, 5, 1, 6, 3, 6, 4)},
    "size least": {"dimensions": first(0, 6, 1, 6, 3, LEAST, 4)},
    "length of another array": {"dimensions": first(0, 5, 1, 5, 3, 6, 4)},
    "length 0": {"dimensions": first(0, 0, 1, 0, 3, 6, 4), "array": np.zeros((0, 4), "V2")},
    "stride 0": {"dimensions": first(0, 6, 1, 6, 3, 6, 0)},
    "stride -4": {"dimensions": first(0, 6, 1, 6, 3, 6, -4)},
    "stride least": {"dimensions": first(0, 6, 1, 6, 3, 6, LEAST)},
    "stride most": {"dimensions": first(0, 6, 1, 6, 3, 6, MOST)},
    "stride that wraps": {"dimensions": first(0, 6, 1, 6, 3, 6, 4 + 2**62)},
    "strides with a gap": {"dimensions": first(0, 6, 1, 6, 3, 6, 6)},
    "strides that overlap": {"dimensions": dimensions((0, 6, 1, 6, 3, 6, 2), (0, 4, 1, 4, 2, 4, 2))},
    # Reach and size are equal, but some elements are the same.
    "strides of the same elements": {
        "files": (b"/nowhere", b"/nowhere/", b"%d/%d/%d", b"run"),
        "array": np.zeros((6, 4, 1), "V2"),
        "dimensions": dimensions((0, 6, 1, 6, 3, 6, 1), (0, 4, 1, 4, 2, 4, 8), (0, 1, 1, 1, 1, 1, 1)),
    },
    "bytes of a chunk that wrap": {
        "array": np.zeros((1, 1), "V2"),
        "dimensions": dimensions((0, 1, 1, 1, 2**62, 2**62, 8), (0, 1, 1, 1, 4, 4, 2)),
    },
    "fill of another size": {"fill": b"\0"},
    "fill as text": {"fill": "\0\0"},
    "codec that is no tuple": {"codec": 5},
    "empty codec": {"codec": ()},
    "unknown codec": {"codec": ("gzip", (1,))},
    "codec without functions": {"codec": ("zstd", (), 3, 0)},
    "codec with too few functions": {"codec": ("zstd", (1, 2, 3), 3, 0)},
    "codec with a function at 0": {"codec": ("blosc", (0, 0), 5, 1, 2, 0, "lz4")},
    "codec with functions as text": {"codec": ("blosc", ("a", "b"), 5, 1, 2, 0, "lz4")},
    "codec without parameters": {"codec": ("zstd", tuple(range(1, 11)))},
    "codec with level as text": {"codec": ("zstd", tuple(range(1, 11)), "3", 0)},
    "codec with a level beyond integers": {"codec": ("zstd", tuple(range(1, 11)), 2**70, 0)},
    "lz4 with too few functions": {"codec": ("lz4", (1, 2), 0, 0)},
    "lz4 without whether it is sized": {"codec": ("lz4", (1, 2, 3), 0)},
    "blosc without type size": {"codec": ("blosc", (1, 2), 5, 1, None, 0, "lz4")},
    "neither files nor shard": {"files": None},
    "files as texts": {"files": ("/nowhere", "/nowhere/", "c/%d/%d", "run")},
    "too few files": {"files": (b"/nowhere",)},
    "root with a zero": {"files": (b"/no\0where", b"/nowhere/", b"c/%d/%d", b"run")},
    "root that is too long": {"files": (b"/" + b"x" * 5000, b"/nowhere/", b"c/%d/%d", b"run")},
    "template that is too long": {"files": (b"/nowhere", b"/nowhere/", b"x" * 5000 + b"c/%d/%d", b"run")},
    "template of one coordinate": {"files": (b"/nowhere", b"/nowhere/", b"c/%d", b"run")},
    "template of three coordinates": {"files": (b"/nowhere", b"/nowhere/", b"c/%d/%d/%d", b"run")},
    "template that ends early": {"files": (b"/nowhere", b"/nowhere/", b"c/%d/%d%", b"run")},
    "template of texts": {"files": (b"/nowhere", b"/nowhere/", b"c/%d/%d%s", b"run")},
    "shard that is no tuple": {"files": None, "shard": 5},
    "shard of too few": {"files": None, "shard": (-1, INDEX)},
    "index that is no buffer": {"files": None, "shard": (-1, None, 100, b"")},
    "index of other dimensions": {"files": None, "shard": (-1, np.zeros((2, 2), "u8"), 100, b"")},
    "index of other chunks": {"files": None, "shard": (-1, np.zeros((2, 1, 2), "u8"), 100, b"")},
    "index of one number": {"files": None, "shard": (-1, np.zeros((2, 2, 1), "u8"), 100, b"")},
    "index of 32 bits": {"files": None, "shard": (-1, np.zeros((2, 2, 2), "u4"), 100, b"")},
    "index with gaps": {"files": None, "shard": (-1, np.zeros((2, 2, 4), "u8")[..., ::2], 100, b"")},
    "limit -1": {"files": None, "shard": (-1, INDEX, -1, b"")},
    "shard in a file without a version": {"shard": (-1, INDEX, 100, b"")},
    "shard in two files": {"shard": (0, INDEX, 100, bytes(40))},
}


@pytest.mark.parametrize("arguments", REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused(arguments: Arguments) -> None:
    with pytest.raises((ValueError, TypeError, BufferError, OverflowError)):
        transfer(**arguments)


def test_what_fits_is_taken() -> None:
    assert len(transfer()) == 2 * 2
    assert len(transfer(files=None, shard=(-1, INDEX, 100, b""))) == 2 * 2
    assert len(transfer(shard=(-1, INDEX, 100, bytes(40)))) == 2 * 2


@pytest.mark.parametrize("method", ["read", "write", "filled", "encode"])
@pytest.mark.parametrize("batch", [(-1, 2), (3, 2), (0, 5), (LEAST, MOST), (MOST, MOST)])
def test_chunks_that_are_not_there(method: str, batch: tuple[int, int]) -> None:
    locks = ((),) if method == "write" else ()
    with pytest.raises(IndexError, match=f"got chunks {batch[0]} to {batch[1]}, expected some of 4"):
        getattr(transfer(), method)(*batch, *locks)


@pytest.mark.parametrize(
    "call",
    [
        lambda made: made.read(0),
        lambda made: made.read("0", 4),
        lambda made: made.read(0, 2**70),
        lambda made: made.write(0, 4),
        lambda made: made.write(0, 4, []),
        lambda made: made.write(0, 4, (None,)),
        lambda made: made.encode(0, 4),
    ],
)
def test_calls_that_can_not_be(call: Callable[[Any], object]) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError, AttributeError)):
        call(transfer())


def test_an_array_that_was_not_given_for_writing_is_not_written_to(tmp_path: Path) -> None:
    array = read_only()
    made = transfer(array=array, writable=False, fill=b"ab", files=fitting(str(tmp_path))["files"])
    with pytest.raises(ValueError, match="read"):
        made.read(0, 4)
    assert not array.view("u1").any()


def test_the_array_is_held_as_long_as_the_transfer() -> None:
    memory = bytearray(48)
    made = transfer(array=memoryview(memory).cast("H").cast("B").cast("H", (6, 4)))
    with pytest.raises(BufferError):
        memory.append(0)
    del made
    memory.append(0)


NUMBERS = st.integers(-3, 9) | st.sampled_from([MOST, MOST - 1, LEAST, 2**62, 2**62 + 1, 2**32, 2**31])


@settings(max_examples=300, derandomize=True)
@given(
    st.lists(st.tuples(*[NUMBERS] * 7), min_size=2, max_size=2),
    st.booleans(),
)
def test_any_numbers(numbers: list[tuple[int, ...]], sharded: bool) -> None:
    """Where they are taken, all that is done with them stays within the memory: sanitizers tell."""
    shape = [min(max(of_one[3], 0), 9) for of_one in numbers]
    chosen: Arguments = {"array": np.zeros(shape, "V2"), "dimensions": dimensions(*numbers)}
    if sharded:
        chosen |= {"files": None, "shard": (-1, INDEX, 100, b"")}
    try:
        made = transfer(**chosen)
    except ValueError:
        return
    count = len(made)
    assert 0 < count <= 81
    made.read(0, count)
    made.filled(0, count)


def test_steps_and_chunks_near_the_largest_integer() -> None:
    """Start, stop and step of a chunk that no file holds: the places in the array are right all the same."""
    size = 2**62 + 1
    array = np.full((2, 1), 7, "u1").view("V1")
    made = transfer(
        array=array,
        fill=b"\x05",
        dimensions=dimensions((0, MOST, size, 2, size, MOST, 1), (0, 1, 1, 1, 1, 1, 1)),
    )
    assert len(made) == 2
    assert made.read(0, 2) == []
    assert array.view("u1").tolist() == [[5], [5]]
