"""Memory of results is used again when nobody refers to it, and not before."""

import gc
import pickle
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import fastzarr
from fastzarr import result_memory
from fastzarr.errors import ChunkNotFoundError

BYTES = np.dtype("u1")
SIZE = 1 << 10
BLOCK = SIZE + 64
"""A result begins at a multiple of 64 bytes."""

pytestmark = pytest.mark.skipif(not result_memory._COUNTED, reason="reference counts tell nothing here")


@pytest.fixture(autouse=True)
def small_results_too(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(result_memory, "SMALLEST", 1)
    monkeypatch.setattr(result_memory, "_blocks", [])
    result_memory._limit.cache_clear()
    yield
    result_memory._limit.cache_clear()


def result(size: int = SIZE) -> NDArray[Any]:
    return result_memory.empty((size,), BYTES, "C")


def spoil() -> None:
    """Give every block contents that no test expects."""
    for block in result_memory._blocks:
        block.fill(0xA5)


def test_a_released_result_gives_its_memory_to_the_next() -> None:
    for _ in range(10):
        result()
    assert len(result_memory._blocks) == 1
    kept = None
    for _ in range(10):
        kept = result()
    assert kept is not None
    assert len(result_memory._blocks) == 2


def test_small_results_have_memory_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_memory, "SMALLEST", SIZE)
    assert result(SIZE - 1).flags.owndata
    assert not result_memory._blocks
    assert not result(SIZE).flags.owndata


class Holder:
    def __init__(self, held: object) -> None:
        self.held = held
        self.itself = self


REFERENCES: dict[str, Callable[[NDArray[Any]], object]] = {
    "the result": lambda a: a,
    "a view": lambda a: a[3:5],
    "a view of a view": lambda a: a[::-1][4:].reshape(-1, 2).T,
    "another dtype": lambda a: a.view("i4")[1:],
    "its base": lambda a: a.base,
    "a weak reference to its base": lambda a: weakref.ref(a.base),
    "a memoryview": lambda a: a.data,
    "a slice of a memoryview": lambda a: a.data[5:6],
    "an array over a memoryview": lambda a: np.frombuffer(a.data, "u2"),
    "an iterator": lambda a: a.flat,
    "DLPack": lambda a: a.__dlpack__(),
    "an array from DLPack": lambda a: np.from_dlpack(a),
    "ctypes": lambda a: np.ctypeslib.as_ctypes(a),
    "a buffer of pickle": lambda a: out_of_band(a),
    "a masked array": lambda a: np.ma.array(a, mask=False, copy=False),
    "a subclass": lambda a: a.view(np.matrix),
    "a cycle": lambda a: Holder(a) and None,
    "an element of an object array": lambda a: np.array([a[:2], None], object),
}


def out_of_band(array: NDArray[Any]) -> object:
    buffers: list[pickle.PickleBuffer] = []
    pickle.dumps(array, protocol=5, buffer_callback=buffers.append)
    return buffers


@pytest.mark.parametrize("name", REFERENCES)
def test_memory_that_something_refers_to_is_not_given_away(name: str) -> None:
    gc.collect()
    first = result()
    place = first.ctypes.data
    gc.disable()
    try:
        reference = REFERENCES[name](first)
        del first
        others = [result() for _ in range(3)]
        assert place not in [other.ctypes.data for other in others]
        del reference
    finally:
        gc.enable()
    gc.collect()
    assert result().ctypes.data == place


def test_a_thread_that_has_a_result_keeps_it() -> None:
    ready, done = threading.Event(), threading.Event()
    places: list[int] = []

    def hold() -> None:
        mine = result()
        mine.fill(7)
        places.append(mine.ctypes.data)
        ready.set()
        done.wait()
        assert (mine == 7).all()

    thread = threading.Thread(target=hold)
    thread.start()
    ready.wait()
    assert result().ctypes.data not in places
    done.set()
    thread.join()
    assert len({result().ctypes.data for _ in range(3)}) == 1
    assert len(result_memory._blocks) == 2


def test_threads_never_share_memory() -> None:
    wrong: list[int] = []

    def work(number: int) -> None:
        held: list[NDArray[Any]] = []
        for turn in range(400):
            mine = result()
            mine.fill(number)
            held.append(mine)
            if turn % 3 == 0:
                del held[: turn % 5]
            wrong.extend(number for one in held if not (one == number).all())

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert not wrong
    result()
    assert len(result_memory._blocks) <= 16


def test_a_finaliser_in_the_middle_gets_other_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    result()
    inner: list[NDArray[Any]] = []
    free = result_memory._free

    def interrupted(*arguments: Any) -> Any:
        monkeypatch.setattr(result_memory, "_free", free)
        inner.append(result())
        found = free(*arguments)
        inner.append(result())
        return found

    monkeypatch.setattr(result_memory, "_free", interrupted)
    outer = result()
    assert len({array.ctypes.data for array in (outer, *inner)}) == 3


def test_an_interrupt_in_the_middle_loses_nothing_but_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    first = result()
    first.fill(1)

    def interrupted(*arguments: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(result_memory, "_free", interrupted)
        with pytest.raises(KeyboardInterrupt):
            result()
    result().fill(2)
    assert (first == 1).all()
    assert len(result_memory._blocks) == 1


def test_blocks_are_few() -> None:
    held = [result() for _ in range(40)]
    assert len(result_memory._blocks) == 16
    assert result_memory._blocks[-1] is held[-1].base


@pytest.mark.parametrize(
    ("limit", "count"), [(0, 0), (SIZE - 1, 0), (3 * BLOCK, 3), (4 * BLOCK - 1, 3), (4 * BLOCK, 4)]
)
def test_the_environment_limits_the_bytes(limit: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(result_memory.VARIABLE, str(limit))
    held = [result() for _ in range(10)]
    assert len(result_memory._blocks) == count
    assert all(
        block is one.base for block, one in zip(result_memory._blocks, held[10 - count :], strict=True)
    )
    held.clear()
    result(2 * SIZE)
    assert sum(block.size for block in result_memory._blocks) <= limit


@pytest.mark.parametrize("value", ["-1", "64M", "", "1e6"])
def test_a_wrong_limit_is_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(result_memory.VARIABLE, value)
    array = fastzarr.create_array(None, data=np.arange(8), chunks=2)
    with pytest.raises(ValueError, match=f"FASTZARR_RESULT_MEMORY: got '{value}', expected a number of byt"):
        array[...]


def test_a_block_is_at_most_a_quarter_too_large() -> None:
    for size, blocks in [(1216, 1), (960, 1), (959, 2), (1217, 3)]:
        result(size)
        assert len(result_memory._blocks) == blocks, size


def test_where_counts_tell_nothing_memory_is_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_memory, "_COUNTED", False)
    assert result().shape == (SIZE,)
    assert not result_memory._blocks


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    "dtype", ["u1", ">i2", "f8", "c16", "clongdouble", "U3", "S5", "V7", "M8[s]", [("a", "i2"), ("b", ">f8")]]
)
def test_dtype_shape_and_order_are_those_asked_for(dtype: Any, order: str) -> None:
    for _ in range(2):
        array = result_memory.empty((3, 4, 5), np.dtype(dtype), order)
        assert (array.shape, array.dtype) == ((3, 4, 5), np.dtype(dtype))
        assert array.flags.f_contiguous == (order == "F")
        assert array.flags.c_contiguous == (order == "C")
        assert array.flags.aligned
        assert array.ctypes.data % 64 == 0
        assert array.flags.writeable
        array[...] = np.zeros((), dtype)


@pytest.mark.parametrize("dtype", ["O", [("a", "i4"), ("b", "O")], np.dtypes.StringDType()])
def test_references_are_never_in_a_block(dtype: Any) -> None:
    assert result_memory.empty((SIZE,), np.dtype(dtype), "C").flags.owndata
    assert not result_memory._blocks


SELECTIONS: list[Any] = [
    *[..., 3, -1, slice(2, 9), slice(None, None, 3), slice(None, None, -2), slice(5, 5)],
    *[(slice(1, 12, 5), slice(10, 3, -3)), (4, slice(2, 9)), (4, 5), np.s_[..., 2], [1, 5, 12]],
    np.arange(13 * 11).reshape(13, 11) % 3 == 0,
]


@pytest.mark.parametrize("selection", SELECTIONS, ids=str)
@pytest.mark.parametrize(
    "layout",
    [
        {"chunks": (4, 3), "compressors": None},
        {"chunks": (1, 11), "compressors": None},
        {"chunks": (4, 3)},
        {"chunks": (2, 3), "shards": (4, 6)},
        {"chunks": (4, 3), "config": {"order": "F"}},
        {"chunks": (4, 3), "compressors": None, "zarr_format": 2, "order": "F"},
    ],
    ids=str,
)
def test_nothing_of_an_earlier_result_is_seen(layout: dict[str, Any], selection: Any) -> None:
    expected = np.full((13, 11), -7, "i4")
    array = fastzarr.create_array(None, shape=expected.shape, dtype="i4", fill_value=-7, **layout)
    for part in (
        np.s_[0:4, 0:3],
        np.s_[9:, 8:],
        np.s_[6, :],
    ):  # and other chunks and inner chunks are missing
        expected[part] = array[part] = np.arange(expected[part].size).reshape(expected[part].shape)
    for _ in range(3):
        np.testing.assert_array_equal(array[selection], expected[selection])
        np.testing.assert_array_equal(
            array.get_orthogonal_selection(np.s_[::2, [1, 7]]), expected[::2, [1, 7]]
        )
        np.testing.assert_array_equal(array.vindex[[0, 12, 5], [0, 10, 5]], expected[[0, 12, 5], [0, 10, 5]])
        spoil()
    assert result_memory._blocks


def test_nothing_of_an_earlier_result_is_seen_in_fields() -> None:
    array = fastzarr.create_array(None, shape=(6,), chunks=(4,), dtype=[("a", "i2"), ("b", "f4")])
    array["a"] = np.arange(6)
    for _ in range(3):
        np.testing.assert_array_equal(array["a"], np.arange(6))
        np.testing.assert_array_equal(array["b"], np.zeros(6))
        assert array[4:].tolist() == [(4, 0.0), (5, 0.0)]
        spoil()


def test_a_failed_read_returns_nothing() -> None:
    array = fastzarr.create_array(
        None, shape=(8,), chunks=(2,), dtype="i4", config={"read_missing_chunks": False}
    )
    array[:6] = np.arange(1, 7)
    array[:6]
    with pytest.raises(ChunkNotFoundError):
        array[...]
    np.testing.assert_array_equal(array[:6], np.arange(1, 7))


def test_results_of_an_array_stay_as_they_are() -> None:
    data = np.arange(40 * 100, dtype="i4").reshape(40, 100)
    array = fastzarr.create_array(None, data=data, chunks=(1, 100))
    held = [array[n] for n in range(40)]
    first = array[0].data
    for n in range(40):
        np.testing.assert_array_equal(array[n], data[n])
    np.testing.assert_array_equal(held, data)
    np.testing.assert_array_equal(first, data[0])
