"""numcodecs' checksums: 32 bits, little-endian, before or behind the data.

What each is computed over and where it stands is as numcodecs has it, since there is no specification.
"""

from __future__ import annotations

import zlib
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np

from fastzarr.codecs.base import Buffer, ChunkSpec, CodecBase, Kind, is_integer
from fastzarr.errors import CodecError

_BYTES = 4


@dataclass(frozen=True, kw_only=True)
class _Checksum(CodecBase):
    kind: ClassVar[Kind] = "bytes_bytes"

    validate: bool = field(default=True, init=False, repr=False, compare=False)
    """Whether reading compares; of a resolved codec, from the array's configuration."""

    @property
    def before(self) -> bool:
        """Whether the checksum stands before the data."""
        return False

    @abstractmethod
    def checksum(self, data: memoryview) -> int:
        """The checksum of `data`."""

    def resolve(self, spec: ChunkSpec) -> Self:
        """The codec that compares, or doesn't."""
        resolved = replace(super().resolve(spec))
        object.__setattr__(resolved, "validate", spec.validate_checksums)
        return resolved

    def encode(self, data: Buffer) -> Buffer:
        """Data and checksum."""
        checksum = self.checksum(memoryview(data)).to_bytes(_BYTES, "little")
        return b"".join((checksum, data) if self.before else (data, checksum))

    def decode(self, data: Buffer, out: memoryview | None) -> Buffer:
        """The data beside a checksum that fits."""
        if len(data) < _BYTES:
            raise CodecError(f"got {len(data)} bytes, expected data and a checksum of {_BYTES} bytes")
        whole = memoryview(data)
        body, found = (whole[_BYTES:], whole[:_BYTES]) if self.before else (whole[:-_BYTES], whole[-_BYTES:])
        if out is not None and len(body) != len(out):
            raise CodecError(f"got {len(body)} bytes beside the checksum, expected {len(out)}")
        if self.validate:
            stored = int.from_bytes(found, "little")
            computed = self.checksum(body)
            if stored != computed:
                raise CodecError(f"{self.name} mismatch: stored {stored:08x}, computed {computed:08x}")
        return body


@dataclass(frozen=True, kw_only=True)
class _Located(_Checksum):
    location: Literal["start", "end"] = "start"
    """Whether the checksum stands before or behind the data."""

    def __post_init__(self) -> None:
        self.check("location", self.location in ("start", "end"), "'start' or 'end'")

    @property
    def before(self) -> bool:
        """Whether the checksum stands before the data."""
        return self.location == "start"


@dataclass(frozen=True, kw_only=True)
class CRC32(_Located):
    """bytes→bytes with a CRC32."""

    name: ClassVar[str] = "numcodecs.crc32"

    def checksum(self, data: memoryview) -> int:
        """CRC32 of `data`."""
        return zlib.crc32(data)


@dataclass(frozen=True, kw_only=True)
class Adler32(_Located):
    """bytes→bytes with an Adler32."""

    name: ClassVar[str] = "numcodecs.adler32"

    def checksum(self, data: memoryview) -> int:
        """Adler32 of `data`."""
        return zlib.adler32(data)


@dataclass(frozen=True, kw_only=True)
class CRC32C(_Located):
    """bytes→bytes with a CRC32C."""

    name: ClassVar[str] = "numcodecs.crc32c"
    _libraries = ("crc32c",)

    location: Literal["start", "end"] = "end"
    """Whether the checksum stands before or behind the data."""

    def checksum(self, data: memoryview) -> int:
        """CRC32C of `data`."""
        import crc32c

        return crc32c.crc32c(data)


@dataclass(frozen=True, kw_only=True)
class Fletcher32(_Checksum):
    """bytes→bytes with numcodecs' Fletcher32 behind."""

    name: ClassVar[str] = "numcodecs.fletcher32"
    _libraries = ("numcodecs.fletcher32",)

    def checksum(self, data: memoryview) -> int:
        """Fletcher32 of little-endian words of two bytes; a zero completes the last."""
        from numcodecs.fletcher32 import Fletcher32 as Numcodec

        if len(data) == 0:
            return 0
        whole = data if len(data) % 2 == 0 else b"".join((data, b"\0"))
        # At an even address, since numcodecs reads words there.
        words = np.require(np.frombuffer(whole, np.uint16), requirements="A")
        return int.from_bytes(Numcodec().encode(words)[-_BYTES:], "little")


@dataclass(frozen=True, kw_only=True)
class JenkinsLookup3(_Checksum):
    """bytes→bytes with Bob Jenkins' lookup3 behind, as HDF5 has it."""

    name: ClassVar[str] = "numcodecs.jenkins_lookup3"
    _libraries = ("numcodecs.jenkins",)

    initval: int = 0
    """Start value."""
    prefix: Sequence[int] | None = None
    """Bytes that the checksum covers before the data; None for none."""

    def __post_init__(self) -> None:
        self.check("initval", is_integer(self.initval, 0, 2**32 - 1), "an integer from 0 to 2**32 - 1")
        if self.prefix is not None:
            given: Any = list(self.prefix) if isinstance(self.prefix, bytes) else self.prefix
            valid = isinstance(given, list | tuple) and all(is_integer(byte, 0, 255) for byte in given)
            self.check("prefix", valid, "a list of bytes, or null")
            object.__setattr__(self, "prefix", tuple(given))

    def config(self) -> dict[str, Any]:
        """Configuration as it is written."""
        return {"initval": self.initval, "prefix": None if self.prefix is None else list(self.prefix)}

    def checksum(self, data: memoryview) -> int:
        """lookup3 of the prefix and `data`."""
        from numcodecs.jenkins import jenkins_lookup3

        whole = data if self.prefix is None else memoryview(b"".join((bytes(self.prefix), data)))
        if not len(whole):
            # What lookup3 makes of nothing; numcodecs' code reads the first byte.
            return (0xDEADBEEF + self.initval) & 0xFFFFFFFF
        return int(jenkins_lookup3(np.frombuffer(whole, np.uint8), self.initval))
