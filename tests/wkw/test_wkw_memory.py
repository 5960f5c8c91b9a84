"""Cutouts of files of 1024³ voxels take the memory of what they touch, not of the file."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import wkw_layout as layout
from kernel_paths import SANITIZED, run_script

from fastzarr import wkw

pytestmark = pytest.mark.skipif(SANITIZED, reason="memory under sanitizers is another")

PEAK = """
import sys
import numpy as np
from fastzarr import wkw

MIB = 1 << 20
root, what, beside = sys.argv[1:]
array = wkw.open(root)
small = wkw.create(beside, dtype="u1", block_len=2, file_len=2, block_type=array.block_type)
small[:, 0:3, 0:3, 0:3] = 1
small[...]  # all is imported
value = np.random.default_rng(1).integers(0, 256, (1, 100, 100, 100), "u1")
box = np.s_[:, 500:600, 470:570, 30:130]
if what == "read":
    call = lambda: array[box]
elif what == "write":
    call = lambda: array.__setitem__(box, value)
else:
    call = lambda: array.__setitem__(np.s_[:, 2000:2100, 470:570, 30:130], value)

def now(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith(name))

with open("/proc/self/clear_refs", "w") as clear:
    clear.write("5")  # the peak begins anew
before = now("VmRSS")
call()
print((now("VmHWM") - before) / MIB)
"""


@pytest.fixture(scope="module", params=["raw", "lz4"])
def root(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of 1 GiB, all of it stored."""
    root = tmp_path_factory.mktemp("memory") / "a"
    wkw.create(root, dtype="u1", block_type=request.param)
    path = layout.path_of(root, 0, 0, 0)
    path.parent.mkdir(parents=True)
    ones = np.ones((1, 32, 32, 32), "u1")
    if request.param == "raw":
        block = ones.tobytes()
        with path.open("wb") as file:
            file.write(layout.header("uint8", data_offset=16))
            file.seek(16 + (1 << 30) - len(block))
            file.write(block)
    else:
        one = layout.encode(ones, block_len=32, block_type="lz4")[24:]
        path.write_bytes(layout.join(layout.header("uint8", block_type="lz4"), [one] * 32**3))
    return root


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux")
@pytest.mark.parametrize(("what", "most"), [("read", 12), ("write", 48), ("write a new file", 48)])
def test_peak(root: Path, tmp_path: Path, what: str, most: int) -> None:
    """Read: a result of 1 MB, the jump table, blocks. Written: also those that are encoded."""
    assert float(run_script(PEAK, root, what, tmp_path / "small")) < most
