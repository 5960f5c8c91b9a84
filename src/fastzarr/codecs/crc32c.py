"""The `crc32c` codec: a checksum of four bytes behind the data.

Source: Zarr v3 codecs specification, "crc32c".
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from fastzarr.codecs.base import Buffer, ChunkSpec, CodecBase, Kind
from fastzarr.errors import CodecError


@dataclass(frozen=True, kw_only=True)
class Crc32cCodec(CodecBase):
    """bytes→bytes with a CRC32C behind."""

    name: ClassVar[str] = "crc32c"
    kind: ClassVar[Kind] = "bytes_bytes"
    _libraries = ("crc32c",)

    validate: bool = field(default=True, init=False, repr=False, compare=False)
    """Whether reading compares; of a resolved codec, from the array's configuration."""

    def resolve(self, spec: ChunkSpec) -> Self:
        """The codec that compares, or doesn't."""
        resolved = replace(super().resolve(spec))
        object.__setattr__(resolved, "validate", spec.validate_checksums)
        return resolved

    def encode(self, data: Buffer) -> Buffer:
        """Data and checksum."""
        return b"".join((data, _checksum(data)))

    def decode(self, data: Buffer, out: memoryview | None) -> Buffer:
        """The data before a checksum that fits, or before any where it is not to be compared."""
        if len(data) < 4:
            raise CodecError(f"got {len(data)} bytes, expected data and a CRC32C of 4 bytes")
        body = memoryview(data)[:-4]
        if out is not None and len(body) != len(out):
            raise CodecError(f"got {len(body)} bytes before the CRC32C, expected {len(out)}")
        if not self.validate:
            return body
        found = bytes(memoryview(data)[-4:])
        expected = _checksum(body)
        if found != expected:
            raise CodecError(f"CRC32C mismatch: stored {found.hex()}, computed {expected.hex()}")
        return body


def _checksum(data: Buffer) -> bytes:
    import crc32c

    return crc32c.crc32c(data).to_bytes(4, "little")
