"""The `numcodecs.pcodec` codec: numbers compressed by Pcodec. Needs the package pcodec.

Source: numcodecs' `pcodec`; Pcodec's standalone format.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from fastzarr.codecs.base import Buffer, ChunkSpec, ComputedCodec, is_integer
from fastzarr.codecs.numcodecs import extra
from fastzarr.codecs.numcodecs.registered import numcodec
from fastzarr.errors import CodecError, MetadataError


@dataclass(frozen=True, kw_only=True)
class PCodec(ComputedCodec):
    """array→bytes with Pcodec, in C order."""

    name: ClassVar[str] = "numcodecs.pcodec"

    level: int = 8
    """Compression level, 0 to 12."""
    mode_spec: Literal["auto", "classic"] = "auto"
    """Whether structure (as of multiples of 0.1) is looked for."""
    delta_spec: Literal["auto", "none", "try_consecutive", "try_lookback"] = "auto"
    """Which differences are stored."""
    paging_spec: Literal["equal_pages_up_to"] = "equal_pages_up_to"
    """How pages are made."""
    delta_encoding_order: int | None = None
    """How often differences are taken, 0 to 7; None chooses."""
    equal_pages_up_to: int = 262_144
    """Most elements of a page."""
    library: Any = field(default=None, init=False, repr=False, compare=False)
    """The package's `standalone`; of a resolved codec only."""

    def __post_init__(self) -> None:
        self.check("level", is_integer(self.level, 0, 12), "an integer from 0 to 12")
        self.check("mode_spec", self.mode_spec in ("auto", "classic"), "'auto' or 'classic'")
        deltas = ("auto", "none", "try_consecutive", "try_lookback")
        self.check("delta_spec", self.delta_spec in deltas, f"one of {', '.join(deltas)}")
        self.check("paging_spec", self.paging_spec == "equal_pages_up_to", "'equal_pages_up_to'")
        order = self.delta_encoding_order
        self.check("delta_encoding_order", order is None or is_integer(order, 0, 7), "an integer from 0 to 7")
        self.check(
            "equal_pages_up_to", is_integer(self.equal_pages_up_to, 1, 2**31), "an integer of 1 or more"
        )

    def resolve(self, spec: ChunkSpec) -> Self:
        """The codec with its library; raises `MetadataError` where it is not installed."""
        where = f"codec {self.name!r}"
        if spec.dtype.kind not in "iuf" or spec.dtype.itemsize == 1:
            expected = "integers and floats of 2, 4 or 8 bytes"
            raise MetadataError(where, [f"got data type {spec.dtype}, expected {expected}"])
        resolved = super().resolve(spec)
        object.__setattr__(resolved, "library", extra.library(self.name, "pcodec.standalone"))
        return resolved

    def encode_array(self, chunk: NDArray[Any]) -> Buffer:
        """One standalone file."""
        codec = numcodec({"id": "pcodec", **self.config()})
        native = np.ascontiguousarray(chunk, chunk.dtype.newbyteorder("="))
        return codec.encode(native)  # type: ignore[no-any-return]

    def decode_array(self, data: Buffer) -> NDArray[Any]:
        """The chunk; raises `CodecError`."""
        elements = np.empty(math.prod(self.chunk.shape), self.chunk.dtype.newbyteorder("="))
        try:
            progress = self.library.simple_decompress_into(bytes(data), elements)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic of Rust is no `Exception`
            raise CodecError(f"{self.name}: {error}") from error
        if progress.n_processed != elements.size or not progress.finished:
            found = progress.n_processed if progress.finished else "more"
            raise CodecError(f"{self.name}: got {found} elements, expected {elements.size}")
        return elements.reshape(self.chunk.shape)
