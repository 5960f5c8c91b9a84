"""The `numcodecs.zfpy` codec: arrays compressed by zfp. Needs the package zfpy.

Source: numcodecs' `zfpy`; zfp's format with a full header.

zfp trusts what it reads: neither a checksum nor an end is in a stream. The header is compared with the chunk
before zfp sees it, and zeros behind the data keep it from reading beyond; what is damaged between is read as
other numbers. A checksum codec behind this one tells.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from fastzarr.codecs.base import Buffer, ChunkSpec, ComputedCodec, is_integer
from fastzarr.codecs.numcodecs import extra
from fastzarr.errors import CodecError, MetadataError

_TYPES = {"int32": 1, "int64": 2, "float32": 3, "float64": 4}
"""zfp's numbers of data types."""
_MAGIC = b"zfp"
_HEADER_BYTES = 20
"""Magic number and version (32 bits), data type and shape (52), mode (12 or 76)."""
_SHORTEST_HEADER_BYTES = 12
_SHORT_MODES = 0xFFF
_MODES = {4: "tolerance", 2: "rate", 3: "precision"}
"""zfp's modes that numcodecs has, and the member each goes by."""


@dataclass(frozen=True, kw_only=True)
class ZFPY(ComputedCodec):
    """array→bytes with zfp."""

    name: ClassVar[str] = "numcodecs.zfpy"

    mode: int = 4
    """4 for fixed accuracy, 2 for fixed rate, 3 for fixed precision."""
    tolerance: float = -1
    """Greatest error of an element in fixed accuracy."""
    rate: float = -1
    """Bits of an element in fixed rate."""
    precision: int = -1
    """Bits of an element that are looked at in fixed precision."""
    compression_kwargs: Any = None
    """Taken for numcodecs' sake; without effect."""
    library: Any = field(default=None, init=False, repr=False, compare=False)
    """The package; of a resolved codec only."""

    def __post_init__(self) -> None:
        modes = ", ".join(f"{mode} ({member})" for mode, member in _MODES.items())
        self.check("mode", is_integer(self.mode, 2, 4), f"one of {modes}")
        for member in _MODES.values():
            value = getattr(self, member)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            self.check(member, number and math.isfinite(value), "a number")
        object.__setattr__(self, "compression_kwargs", None)

    def config(self) -> dict[str, Any]:
        """Configuration as it is written."""
        return {member: value for member, value in super().config().items() if member != "compression_kwargs"}

    def resolve(self, spec: ChunkSpec) -> Self:
        """The codec with its library; raises `MetadataError` where it is not installed."""
        where = f"codec {self.name!r}"
        if spec.dtype.name not in _TYPES or not 1 <= len(spec.shape) <= 4:
            found = f"data type {spec.dtype} and {len(spec.shape)} dimensions"
            raise MetadataError(where, [f"got {found}, expected {', '.join(_TYPES)} and 1 to 4"])
        resolved = super().resolve(spec)
        object.__setattr__(resolved, "library", extra.library(self.name, "zfpy"))
        return resolved

    def encode_array(self, chunk: NDArray[Any]) -> Buffer:
        """One stream with its header."""
        member = _MODES[self.mode]
        native = np.ascontiguousarray(chunk, chunk.dtype.newbyteorder("="))
        arguments = {member: getattr(self, member)}
        return self.library.compress_numpy(native, write_header=True, **arguments)  # type: ignore[no-any-return]

    def decode_array(self, data: Buffer) -> NDArray[Any]:
        """The chunk; raises `CodecError` where the header doesn't fit it."""
        whole = bytes(data)
        most = self._require_header(whole)
        if len(whole) > most:
            raise CodecError(f"{self.name}: got {len(whole)} bytes, expected {most} at the most")
        try:
            decoded: NDArray[Any] = self.library.decompress_numpy(whole.ljust(most, b"\0"))
        except (ValueError, TypeError, MemoryError) as error:
            raise CodecError(f"{self.name}: {error}") from error
        return decoded.reshape(self.chunk.shape)

    def _require_header(self, data: bytes) -> int:
        """Compare the header with the chunk; the bytes that zfp may read at the most."""
        shape = self.chunk.shape
        if len(data) < _SHORTEST_HEADER_BYTES:
            raise CodecError(f"{self.name}: got {len(data)} bytes, expected a header")
        bits = int.from_bytes(data[:_HEADER_BYTES].ljust(_HEADER_BYTES, b"\0"), "little")
        metadata = bits >> 32 & (1 << 52) - 1
        found_type, found_ndim = (metadata & 3) + 1, (metadata >> 2 & 3) + 1
        width = 48 // found_ndim
        sizes = metadata >> 4
        found = tuple((sizes >> width * n & (1 << width) - 1) + 1 for n in reversed(range(found_ndim)))
        if data[:3] != _MAGIC or (found_type, found) != (_TYPES[self.chunk.dtype.name], shape):
            raise CodecError(f"{self.name}: the header is not that of {self.chunk.dtype} of shape {shape}")
        elements = 4 ** len(shape)
        # A block's exponent and each element's bits, with the bits between that zfp puts.
        most = elements * 66 + 128
        mode = bits >> 84 & _SHORT_MODES
        least = (bits >> 96 & (1 << 15) - 1) + 1 if mode == _SHORT_MODES else 0
        if least > most:
            raise CodecError(
                f"{self.name}: the header tells of blocks of {least} bits, expected {most} at most"
            )
        blocks = math.prod((size + 3) // 4 for size in shape)
        return int(_HEADER_BYTES + blocks * most // 8 + 64)
