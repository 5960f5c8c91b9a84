"""WKW, the file format of webknossos: volumes as files of blocks.

Source: https://github.com/scalableminds/webknossos-wrap
"""

from fastzarr.wkw.array import WkwArray, create, open  # noqa: A004
from fastzarr.wkw.header import Header

__all__ = ["Header", "WkwArray", "create", "open"]
