"""The `bytes` codec: an array's memory in C order, in a given byte order.

Source: Zarr v3 codecs specification, "bytes".
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, ClassVar, Literal, Self

import numpy as np

from fastzarr.codecs.base import ChunkSpec, CodecBase, Kind
from fastzarr.data_types import byte_order_matters
from fastzarr.errors import MetadataError


class Endian(StrEnum):
    """Byte orders, by zarr-python's names."""

    big = "big"
    little = "little"


@dataclass(frozen=True, kw_only=True)
class BytesCodec(CodecBase):
    """array→bytes in C order."""

    name: ClassVar[str] = "bytes"
    kind: ClassVar[Kind] = "array_bytes"
    memory: ClassVar[bool] = True

    endian: Literal["little", "big"] | None = sys.byteorder
    """Byte order; None where elements have one byte."""

    def __post_init__(self) -> None:
        if isinstance(self.endian, StrEnum):
            object.__setattr__(self, "endian", self.endian.value)
        self.check("endian", self.endian in ("little", "big", None), "'little' or 'big'")

    @classmethod
    def from_config(cls, configuration: dict[str, Any]) -> Self:
        """Codec from its configuration; without `endian` it serves elements of one byte only."""
        return super().from_config({"endian": None, **configuration})

    def config(self) -> dict[str, Any]:
        """Configuration as it is written."""
        return {} if self.endian is None else {"endian": self.endian}

    def resolve(self, spec: ChunkSpec) -> Self:
        """Without `endian` where it says nothing; raises `MetadataError` where it is needed and missing.

        Records without it are stored as they are in memory: in v2 each field has its byte order, and v3
        records of zarr-python before 3.3 have none.
        """
        if spec.dtype.hasobject or spec.dtype.kind == "T":
            raise MetadataError(
                "codec 'bytes'",
                [f"got {spec.dtype}, expected elements of a fixed size; take 'vlen-utf8' or 'vlen-bytes'"],
            )
        if not byte_order_matters(spec.dtype):
            return replace(self, endian=None)
        if self.endian is None and spec.dtype.names is None:
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
