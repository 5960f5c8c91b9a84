"""Whether a layer that is there is what a conversion would make, but for its voxels.

All raise `NodeExistsError`, with what differs, where it is not.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from fastzarr.errors import NodeExistsError
from fastzarr.volumes.boxes import mag_name
from fastzarr.volumes.properties import Layer
from fastzarr.volumes.targets import Target

_DESCRIBED = ("category", "data_format", "dtype", "channels", "bounding_box")


def require_described(place: Path, there: Layer, made: Layer) -> None:
    """Compare what the dataset's document says."""
    old, new = (
        {key: getattr(layer, key) for key in _DESCRIBED} | {"mags": [mag_name(mag.mag) for mag in layer.mags]}
        for layer in (there, made)
    )
    differs = [f"{key} is {old[key]}, not {new[key]}" for key in old if old[key] != new[key]]
    if differs:
        raise another(place, ", ".join(differs))


def require_layout(place: Path, target: Target, scratch: Path) -> None:
    """Compare the documents of the array at `target` with those of one made anew in `scratch`."""
    made = replace(target, path=scratch / "layout")
    made.create()
    for document in made.path.iterdir():
        stored = target.path / document.name
        if not stored.is_file() or stored.read_bytes() != document.read_bytes():
            raise another(place, f"{stored.relative_to(place)} tells of another layout")
    shutil.rmtree(made.path)


def another(place: Path, differs: str) -> NodeExistsError:
    """The error for a layer that differs."""
    return NodeExistsError(
        f"{place}: got what another conversion made ({differs}), expected what this one makes; "
        "overwrite, or choose another layer"
    )
