"""The `transpose` codec: permuted dimensions.

Source: Zarr v3 codecs specification, "transpose".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from fastzarr.codecs.base import ChunkSpec, CodecBase, Kind
from fastzarr.errors import MetadataError


@dataclass(frozen=True, kw_only=True)
class TransposeCodec(CodecBase):
    """array→array with dimension `order[i]` of the decoded array as dimension `i` of the encoded one."""

    name: ClassVar[str] = "transpose"
    kind: ClassVar[Kind] = "array_array"
    views: ClassVar[bool] = True

    order: tuple[int, ...] | Literal["C", "F"]
    """A permutation of the dimensions; `"C"` and `"F"`, of older writers, keep and reverse them."""

    def __post_init__(self) -> None:
        if self.order not in ("C", "F"):
            self.check("order", _is_permutation(self.order), "a permutation of the dimensions")
            object.__setattr__(self, "order", tuple(int(dimension) for dimension in self.order))

    def config(self) -> dict[str, Any]:
        """Configuration as it is written."""
        return {"order": self.order if isinstance(self.order, str) else list(self.order)}

    def resolve(self, spec: ChunkSpec) -> Self:
        """The codec with a numeric order; raises `MetadataError` where it doesn't fit the dimensions."""
        ndim = len(spec.shape)
        if isinstance(self.order, str):
            forward = tuple(range(ndim))
            return replace(self, order=forward if self.order == "C" else forward[::-1])
        if len(self.order) != ndim:
            raise MetadataError(
                "codec 'transpose'", [f"order: got {list(self.order)}, expected {ndim} dimensions"]
            )
        return self

    def encoded_spec(self, spec: ChunkSpec) -> ChunkSpec:
        """Spec with permuted shape, for a resolved codec."""
        return replace(spec, shape=tuple(spec.shape[int(i)] for i in self.order))

    def encode_array(self, chunk: NDArray[Any]) -> NDArray[Any]:
        """The permuted view, for a resolved codec."""
        return chunk.transpose(*self.order)

    def decode_array(self, encoded: NDArray[Any]) -> NDArray[Any]:
        """The view before permutation, for a resolved codec."""
        return encoded.transpose(*np.argsort(self.order))


def _is_permutation(order: object) -> bool:
    return (
        isinstance(order, list | tuple)
        and all(isinstance(i, int | np.integer) and not isinstance(i, bool) for i in order)
        and sorted(order) == list(range(len(order)))
    )
