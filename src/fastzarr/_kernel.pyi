from typing import Any

INTERFACE: int
"""Number of the version of what is below."""

class Transfer:
    """The chunks of one selection, between files or a shard and an array.

    Arguments: an array with a buffer, whether it is written to; start, stop, step, length, chunk size, array
    size and stride in the chunk (int64) of each dimension; the fill value's bytes; whether chunks that equal
    it are left out, and whether missing ones are filled with it; a `fastzarr.codecs.native` codec, or None;
    root, real root with `/` at its end, template of keys and name for unfinished files, or None; a file
    descriptor, an index (uint64, shape of the shard in inner chunks and 2), the end of its content and `b""`,
    or None; or both: of a shard with the template as its key, which has to have the version that stands last,
    and -1 as descriptor.
    """

    def __new__(
        cls,
        array: Any,
        writable: bool,
        dimensions: bytes,
        fill: bytes,
        elide: bool,
        fill_missing: bool,
        codec: tuple[object, ...] | None,
        files: tuple[bytes, ...] | None,
        shard: tuple[int, Any, int, bytes] | None,
        /,
    ) -> Transfer: ...
    def __len__(self) -> int:
        """Number of chunks."""

    def read(self, begin: int, end: int, /) -> list[int]:
        """Fill the array from chunks number `begin` to `end` - 1; the numbers of those that are left."""

    def write(self, begin: int, end: int, locks: tuple[Any, ...], /) -> list[int]:
        """Store these chunks while holding the locks; the numbers of those that are left."""

    def filled(self, begin: int, end: int, /) -> bytes:
        """For each of these chunks 1 where all of it is the fill value, else 0."""

    def encode(self, begin: int, end: int, /) -> tuple[bytes, bytes] | None:
        """Sizes of these chunks, encoded, as int64, -1 where one is left out, and their bytes in a row.

        None where that failed.
        """
