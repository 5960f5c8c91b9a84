"""Converts in a process of its own, and tells the memory that it took beyond that of the imports.

Arguments: source, dest and the options as JSON, those of the format among them.
"""

import json
import resource
import sys

from fastzarr.volumes import Format, convert

chosen = json.loads(sys.argv[3])
shape = chosen.pop("format")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
convert(sys.argv[1], sys.argv[2], format=Format(**shape), **chosen)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
