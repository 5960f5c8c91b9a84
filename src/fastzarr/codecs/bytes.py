"""The `bytes` codec: an array's memory in C order, in a given byte order.

Source: Zarr v3 codecs specification, "bytes".
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np

from fastzarr.codecs.base import ChunkSpec, CodecBase, Kind
from fastzarr.errors import MetadataError


@dataclass(frozen=True, kw_only=True)
class BytesCodec(CodecBase):
    """array→bytes in C order."""

    name: ClassVar[str] = "bytes"
    kind: ClassVar[Kind] = "array_bytes"
    memory: ClassVar[bool] = True

    endian: Literal["little", "big"] | None = sys.byteorder
    """Byte order; None where elements have one byte."""

    def __post_init__(self) -> None:
        self.check("endian", self.endian in ("little", "big", None), "'little' or 'big'")

    @classmethod
    def from_config(cls, configuration: dict[str, Any]) -> Self:
        """Codec from its configuration; without `endian` it serves elements of one byte only."""
        return super().from_config({"endian": None, **configuration})

    def config(self) -> dict[str, Any]:
        """Configuration as it is written."""
        return {} if self.endian is None else {"endian": self.endian}

    def resolve(self, spec: ChunkSpec) -> Self:
        """Without `endian` for one-byte elements; raises `MetadataError` where it is needed and missing."""
        if spec.dtype.itemsize == 1:
            return replace(self, endian=None)
        if self.endian is None:
            raise MetadataError(
                "codec 'bytes'",
                [f"endian is missing for data type {spec.dtype.name}, expected 'little' or 'big'"],
            )
        return self

    def stored_dtype(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """`dtype` in the codec's byte order."""
        if self.endian is None:
            return dtype
        return dtype.newbyteorder("<" if self.endian == "little" else ">")
