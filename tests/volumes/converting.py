"""Converts in a process of its own, and tells the memory in KiB that it took beyond that of the imports.

Arguments: source, dest and the options as JSON, those of the format among them. Memory is that of
`/proc/self/status`: `ru_maxrss` of a new process begins at what its parent had.
"""

import json
import re
import sys
from pathlib import Path

from fastzarr.volumes import Format, convert


def kibibytes(name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1])


chosen = json.loads(sys.argv[3])
shape = chosen.pop("format")
before = kibibytes("VmRSS")
convert(sys.argv[1], sys.argv[2], format=Format(**shape), **chosen)
print(kibibytes("VmHWM") - before)
