"""One colour and one marker per backend, the same in every plot; told apart with any colour vision.

Baselines are grey. Two backends of one library share a hue. The subject has the one warm, saturated colour.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Mark:
    """How a series is drawn."""

    light: str
    """Colour on a light ground."""
    dark: str
    """Colour on a dark ground."""
    marker: str
    """Matplotlib marker."""


TEXT = "#1c2024"
MUTED = "#5d6670"
GRID = "#e3e6ea"
GROUND = "#ffffff"

BACKENDS = {
    "raw": Mark(light="#767d85", dark="#9aa3ac", marker="v"),
    "raw-chunks": Mark(light="#3f464d", dark="#d5dade", marker="s"),
    "mmap": Mark(light="#9aa1a8", dark="#747e88", marker="^"),
    "libzstd": Mark(light="#4d5b52", dark="#b9c7be", marker="1"),
    "fastzarr": Mark(light="#d1480d", dark="#ff7f45", marker="o"),
    "zarr": Mark(light="#0f6fb5", dark="#4ea6e6", marker="D"),
    "zarr-fused": Mark(light="#5aa9dd", dark="#9bd0f5", marker="d"),
    "zarrs": Mark(light="#7b4fb3", dark="#b794ea", marker="P"),
    "zarrista": Mark(light="#c05299", dark="#ef93cd", marker="X"),
    "tensorstore": Mark(light="#0a8f68", dark="#35c79a", marker="<"),
    "tensorstore-sync": Mark(light="#6bbf9f", dark="#8fe0c4", marker=">"),
    "z5py": Mark(light="#a58a00", dark="#d9bf3f", marker="p"),
    "acquire-zarr": Mark(light="#7a5a3c", dark="#c29f7c", marker="h"),
}
OTHERS = (
    Mark(light="#2f4b7c", dark="#8ea6d9", marker="*"),
    Mark(light="#6b7a1f", dark="#b5c56a", marker="H"),
    Mark(light="#95323c", dark="#e08a93", marker="8"),
)
"""For backends that have no colour of their own yet."""

CODECS = {
    "none": Mark(light="#1c2024", dark="#e8eaed", marker="o"),
    "zstd": Mark(light="#0f6fb5", dark="#4ea6e6", marker="D"),
    "blosc": Mark(light="#c2570c", dark="#f0954f", marker="s"),
    "zlib": Mark(light="#0a8f68", dark="#35c79a", marker="^"),
}


ON_DARK = {
    TEXT: "#e8eaed",
    MUTED: "#a2abb5",
    GRID: "#2c3238",
    GROUND: "#15181b",
    **{mark.light: mark.dark for mark in (*BACKENDS.values(), *OTHERS, *CODECS.values())},
}
"""The colour on a dark ground of every colour on a light one."""


def marks(names: Iterable[str], known: dict[str, Mark]) -> dict[str, Mark]:
    """A mark for each name: its own, or one of `OTHERS` by alphabetical order."""
    unknown = sorted(set(names) - known.keys())
    return known | {name: OTHERS[i % len(OTHERS)] for i, name in enumerate(unknown)}
