"""The `zstd` codec.

Source: zarr-extensions registry, "zstd"; frames: RFC 8878, section 3.1.1.

Two bindings serve, each where it is the faster one: `zstandard` keeps its contexts, which tells for small
chunks (1.25 × at 64 KiB), and decodes into given memory 1.05 to 1.1 × as fast; numcodecs compresses large
chunks 1.04 to 1.08 × as fast. What is not one plain frame is decoded frame by frame: numcodecs 0.16 never
returns from frames with a size that are followed by one without.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from fastzarr.codecs import native
from fastzarr.codecs.base import Buffer, CodecBase, Kind, is_integer
from fastzarr.errors import CodecError

_FUNCTIONS = (
    "ZSTD_createDCtx",
    "ZSTD_freeDCtx",
    "ZSTD_decompressDCtx",
    "ZSTD_getFrameContentSize",
    "ZSTD_findFrameCompressedSize",
    "ZSTD_isError",
    "ZSTD_createCCtx",
    "ZSTD_freeCCtx",
    "ZSTD_CCtx_setParameter",
    "ZSTD_compress2",
)
_NEWER = ("backports.zstd._zstd", "_zstd")
"""Modules with a libzstd that compresses small chunks 1.3 to 1.5 × as fast as that of numcodecs (1.5.6)."""
_LARGE = 1 << 20
"""Bytes from which numcodecs compresses faster."""
_HEADER_BYTES = 18
"""The longest header of a frame."""
_BLOCK_BYTES = 1 << 17
"""The most that a block holds."""
_REPEATED = 1
"""Type of a block that is one byte many times."""
_COMPRESSED = 2
"""Type of a block that does not tell how much it holds."""
_PIECE_BYTES = 1 << 20
"""What may be decoded at once of any frame."""
_PIECE_RATIO = 32
"""What may be decoded at once of a frame, in its own sizes."""
_SKIPPABLE = 0x184D2A5
"""First 28 bits of the magic number of a frame that holds no content."""


class _Contexts(threading.local):
    """What each thread keeps."""

    def __init__(self) -> None:
        self.compressors: dict[ZstdCodec, Any] = {}
        self.decompressor: Any = None


_contexts = _Contexts()


@dataclass(frozen=True, kw_only=True)
class ZstdCodec(CodecBase):
    """bytes→bytes with Zstandard."""

    name: ClassVar[str] = "zstd"
    kind: ClassVar[Kind] = "bytes_bytes"
    _libraries = ("zstandard", "numcodecs.zstd")

    level: int = 0
    """Compression level, -131072 to 22; 0 is the library's default, 3."""
    checksum: bool = False
    """Whether each frame ends with a checksum of its content."""

    def __post_init__(self) -> None:
        self.check("level", is_integer(self.level, -131072, 22), "an integer from -131072 to 22")
        self.check("checksum", isinstance(self.checksum, bool), "true or false")

    def native(self, nbytes: int) -> native.NativeCodec | None:
        """What codes chunks of `nbytes` without Python's lock, or None."""
        modules = ["numcodecs.zstd"] if nbytes >= _LARGE else [*_NEWER, "numcodecs.zstd"]
        for module in modules:
            functions = native.addresses(module, _FUNCTIONS)
            if functions is not None:
                return "zstd", functions, self.level, int(self.checksum)
        return None

    def encode(self, data: Buffer) -> Buffer:
        """One frame with its content size."""
        if len(data) >= _LARGE:
            from numcodecs import zstd

            return zstd.compress(data, self.level, self.checksum)  # type: ignore[no-any-return]
        compressor = _contexts.compressors.get(self)
        if compressor is None:
            import zstandard

            compressor = zstandard.ZstdCompressor(level=self.level, write_checksum=self.checksum)
            _contexts.compressors[self] = compressor
        return compressor.compress(data)

    def decode(self, data: Buffer, out: memoryview | None) -> Buffer:
        """Content of all frames, which must be whole."""
        import zstandard

        try:
            decoded = _decode(data, out)
        except (RuntimeError, ValueError, zstandard.ZstdError) as error:
            raise CodecError(str(error)) from error
        except MemoryError as error:
            raise CodecError(f"{len(data)} bytes decode to more than memory holds") from error
        if out is not None and len(decoded) != len(out):
            raise CodecError(f"got {len(decoded)} bytes, expected {len(out)}")
        return decoded


def _decode(data: Buffer, out: memoryview | None) -> Buffer:
    import zstandard

    if _contexts.decompressor is None:
        _contexts.decompressor = zstandard.ZstdDecompressor()
    if out is not None and _is_one_frame(data, len(out)):
        decoded: int = _contexts.decompressor.stream_reader(data).readinto(out)
        return out if decoded == len(out) else out[:decoded]
    return _decode_frames(memoryview(data), None if out is None else len(out))


def _decode_frames(data: memoryview, size: int | None) -> bytes:
    """Content of any whole frames, of which some may not tell their size, or be empty or skippable.

    At most one byte more than `size`, which tells content that is too long from content that fits.
    """
    parts: list[bytes] = []
    found = 0
    at = 0
    while at < len(data) or not at:
        end, most = _frame_end(data, at)
        if end > len(data):
            raise ValueError("the frame is truncated")
        for part in _pieces(data[at:end], most if size is None else min(most, size - found)):
            parts.append(part)
            found += len(part)
        if size is not None and found > size:
            break
        at = end
    return b"".join(parts)


def _pieces(frame: memoryview, most: int) -> Iterator[bytes]:
    """Up to `most` + 1 bytes of a frame's content; memory is taken as content comes, not as it is claimed."""
    piece = max(_PIECE_BYTES, _PIECE_RATIO * len(frame))
    reader = _contexts.decompressor.stream_reader(frame)
    whole = True
    while whole and most >= 0:
        wanted = min(most + 1, piece)
        part = reader.read(wanted)
        whole = len(part) == wanted
        most -= len(part)
        yield part


def _is_one_frame(data: Buffer, size: int) -> bool:
    """Whether `data` is exactly one frame, to its last byte, whose header tells of `size` bytes of content.

    Such a frame is decoded in one pass, which checks all of it; a stream would not miss the end of another.
    """
    import zstandard

    return zstandard.frame_content_size(data) == size and _frame_end(data, 0)[0] == len(data)


def _frame_end(data: Buffer, at: int) -> tuple[int, int]:
    """Where the frame at `at` ends, and the most bytes of content it can hold (-1 for a skippable one).

    Blocks are walked by their headers; the end of a truncated frame is beyond the data.
    """
    import zstandard

    start = memoryview(data)[at : at + _HEADER_BYTES]
    if len(start) >= 8 and int.from_bytes(start[:4], "little") >> 4 == _SKIPPABLE:
        return at + 8 + int.from_bytes(start[4:8], "little"), -1
    parameters = zstandard.get_frame_parameters(start)
    at += zstandard.frame_header_size(start)
    most = 0
    last = False
    while not last and at + 3 <= len(data):
        block = data[at] | data[at + 1] << 8 | data[at + 2] << 16
        last = bool(block & 1)
        kind = block >> 1 & 3
        at += 3 + (1 if kind == _REPEATED else block >> 3)
        most += _BLOCK_BYTES if kind == _COMPRESSED else block >> 3
    end = at + 4 * parameters.has_checksum if last else len(data) + 1
    return end, most
