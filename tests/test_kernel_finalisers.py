"""Finalisers that use arrays, wherever in the engine and on whichever of its threads they run."""

from pathlib import Path
from typing import Any

import pytest
from kernel_paths import needs_kernel, run_script

LAYOUTS: dict[str, dict[str, Any]] = {
    "none": {"chunks": (8, 50), "compressors": None},
    "zstd": {"chunks": (8, 50)},
    "blosc": {"chunks": (8, 50), "compressors": {"name": "blosc", "configuration": {"cname": "lz4"}}},
    "shards": {"chunks": (4, 25), "shards": (8, 50), "compressors": None},
    "shards zstd": {"chunks": (4, 25), "shards": (8, 50)},
}
each_path = pytest.mark.parametrize("path", [pytest.param("kernel", marks=needs_kernel), "python"])

COLLECTED = """
import gc, sys, threading, time
import numpy as np, fastzarr
class Finalised:
    def __init__(self): self.me = self
    def __del__(self):
        if len(ran) < 8:
            ran.append(threading.get_ident())
            array[...] = values
            array[1:31, 3:190] = values[1:31, 3:190]
            array[...]
class Collecting(fastzarr.LocalStore):
    def set(self, key, data):
        time.sleep(0.002)  # others begin meanwhile
        if array is not None and not collecting.locked():
            with collecting:
                Finalised()
                gc.collect()
        super().set(key, data)
ran, array, collecting = [], None, threading.Lock()
array = fastzarr.create_array(
    Collecting(sys.argv[1]), shape=(32, 200), dtype="i4", config={"threads": 3}, **eval(sys.argv[2])
)
values = np.arange(1, 32 * 200 + 1, dtype="i4").reshape(32, 200)
while len(ran) < 8:
    array[...] = values
    array[2:27, 5:170] = values[2:27, 5:170]
assert (array[...] == values).all()
print("done")
"""


@pytest.mark.parametrize("layout", LAYOUTS)
def test_objects_that_are_collected_while_a_chunk_is_written(tmp_path: Path, layout: str) -> None:
    """Their finaliser's own call gives work to other threads, for chunks of which this one has the lock."""
    assert run_script(COLLECTED, tmp_path, LAYOUTS[layout], threads=3, timeout=20) == "done\n"


FINALISED = """
import gc, sys, threading, weakref
if sys.argv[4] == "python": sys.modules["fastzarr._kernel"] = None
import numpy as np, fastzarr
layout, how = eval(sys.argv[2]), sys.argv[3]
def create(name):
    return fastzarr.create_array(
        f"{sys.argv[1]}/{name}", shape=(32, 200), dtype="i4", config={"threads": 3}, **layout
    )
first, second = create("first"), create("second")
values = np.arange(1, 32 * 200 + 1, dtype="i4").reshape(32, 200)
first[...] = second[...] = values
ran = []
busy = threading.local()
def use_arrays(*_):
    if getattr(busy, "now", False) or len(ran) > 60:
        return
    busy.now = True
    try:
        for array in (first, second):
            array[...] = values
            array[5, 7] = values[5, 7]
            array[10:20, 3:90] = values[10:20, 3:90]
            array[...]
        ran.append(threading.get_ident())
    finally:
        busy.now = False
class Cycle:
    def __init__(self): self.me = self
class Finalised(Cycle):
    def __del__(self): use_arrays()
references = []
def litter():
    if how == "__del__": Finalised()
    elif how == "weakref":
        references.append(weakref.ref(Cycle(), use_arrays))
        del references[:-50]
if how == "callbacks": gc.callbacks.append(use_arrays)
gc.set_threshold(7)
def work():
    for turn in range(6):
        for array in (first, second):
            litter()
            array[...] = values
            litter()
            array[3:30, 2:190] = values[3:30, 2:190]
            litter()
            array[::3, ::5]
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
gc.set_threshold(0)
gc.callbacks.clear()
assert len(ran) > 20, len(ran)
assert (first[...] == values).all() and (second[...] == values).all()
print("done")
"""


@pytest.mark.parametrize(
    ("layout", "how"),
    [("none", "callbacks"), ("zstd", "__del__"), ("blosc", "callbacks"), ("shards zstd", "weakref")],
)
@each_path
def test_objects_that_are_collected_anywhere(tmp_path: Path, layout: str, how: str, path: str) -> None:
    assert run_script(FINALISED, tmp_path, LAYOUTS[layout], how, path, threads=3, timeout=30) == "done\n"
