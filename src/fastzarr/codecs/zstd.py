"""The `zstd` codec.

Source: zarr-extensions registry, "zstd". Compression goes through `zstandard`, whose contexts are kept per
thread; decompression through numcodecs, which decodes into given memory and refuses an unfinished frame.
"""

import threading
from dataclasses import dataclass
from typing import Any, ClassVar

from fastzarr.codecs.base import Buffer, CodecBase, Kind, is_integer
from fastzarr.errors import CodecError

_compressors = threading.local()


@dataclass(frozen=True, kw_only=True)
class ZstdCodec(CodecBase):
    """bytes→bytes with Zstandard."""

    name: ClassVar[str] = "zstd"
    kind: ClassVar[Kind] = "bytes_bytes"

    level: int = 0
    """Compression level, -131072 to 22; 0 is the library's default, 3."""
    checksum: bool = False
    """Whether each frame ends with a checksum of its content."""

    def __post_init__(self) -> None:
        self.check("level", is_integer(self.level, -131072, 22), "an integer from -131072 to 22")
        self.check("checksum", isinstance(self.checksum, bool), "true or false")

    def encode(self, data: Buffer) -> Buffer:
        """One frame with its content size."""
        compressors: dict[Any, Any] = vars(_compressors)
        compressor = compressors.get(self)
        if compressor is None:
            import zstandard

            compressor = zstandard.ZstdCompressor(level=self.level, write_checksum=self.checksum)
            compressors[self] = compressor
        return compressor.compress(data)

    def decode(self, data: Buffer, out: memoryview | None) -> Buffer:
        """Content of all frames."""
        from numcodecs import zstd

        try:
            return zstd.decompress(data, out)  # type: ignore[no-any-return]
        except (RuntimeError, ValueError) as error:
            raise CodecError(str(error)) from error
