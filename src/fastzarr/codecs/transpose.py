"""The `transpose` codec: permuted dimensions.

Source: Zarr v3 codecs specification, "transpose".
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from numpy.typing import NDArray

from fastzarr.codecs.base import ChunkSpec, CodecBase, Kind
from fastzarr.errors import MetadataError


@dataclass(frozen=True, kw_only=True)
class TransposeCodec(CodecBase):
    """array→array with dimension `order[i]` of the decoded array as dimension `i` of the encoded one."""

    name: ClassVar[str] = "transpose"
    kind: ClassVar[Kind] = "array_array"

    order: tuple[int, ...]
    """A permutation of the dimensions; `"C"` and `"F"` of older writers are understood by `from_config`."""

    def __post_init__(self) -> None:
        if not isinstance(self.order, str):
            object.__setattr__(self, "order", tuple(self.order))
            self.check("order", sorted(self.order) == list(range(len(self.order))), "a permutation of dimensions")

    def config(self) -> dict[str, Any]:
        """Configuration as it is written."""
        return {"order": list(self.order)}

    def resolve(self, spec: ChunkSpec) -> Self:
        """The codec with a numeric order; raises `MetadataError` where it doesn't fit the dimensions."""
        ndim = len(spec.shape)
        if self.order in ("C", "F"):
            forward = range(ndim)
            return type(self)(order=tuple(forward if self.order == "C" else reversed(forward)))
        if len(self.order) != ndim:
            raise MetadataError(
                "codec 'transpose'", [f"order: got {list(self.order)}, expected {ndim} dimensions"]
            )
        return self

    def encoded_spec(self, spec: ChunkSpec) -> ChunkSpec:
        """Spec with permuted shape."""
        return ChunkSpec(shape=tuple(spec.shape[i] for i in self.order), dtype=spec.dtype)

    def encode_view(self, chunk: NDArray[Any]) -> NDArray[Any]:
        """The permuted view."""
        return chunk.transpose(self.order)
