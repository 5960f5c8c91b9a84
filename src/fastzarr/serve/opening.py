"""The dataset that a directory holds, of whatever form."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import fastzarr
from fastzarr import wkw
from fastzarr.errors import NodeNotFoundError
from fastzarr.serve.datasets import Category, Dataset, Kind
from fastzarr.serve.described import open_webknossos
from fastzarr.serve.finding import Form, Found, is_array
from fastzarr.serve.images import open_below, open_image, stem
from fastzarr.serve.links import require_inside
from fastzarr.serve.parts import Hints, Parts
from fastzarr.serve.volume import Volume
from fastzarr.volumes import axes
from fastzarr.volumes.boxes import Vec3, parse_mag
from fastzarr.wkw.array import DOCUMENT as WKW_HEADER


def open_dataset(found: Found, name: str, hints: Hints) -> Dataset:
    """The dataset that was found, whether or not it, or all of it, can be opened."""
    parts = Parts(hints)
    if found.problem:
        parts.problems.append(found.problem)
        return parts.dataset(name, found.path, "zarr")
    open_form, kind = _FORMS[found.form]
    opened: Dataset | None = parts.attempt(str(found.path), open_form, parts, found.path, name)
    return opened or parts.dataset(name, found.path, kind)


def _mag(parts: Parts, path: Path, name: str) -> Dataset:
    """One magnification of WKW; the layer is named by the directory above where that has others."""
    mag = parse_mag(path.name)
    title = path.name if mag is None else path.parent.name
    return _wkw(parts, path, name, title or name, {mag or (1, 1, 1): path})


def _layer(parts: Parts, path: Path, name: str) -> Dataset:
    """Magnifications of WKW."""
    mags = ((parse_mag(below.name), below) for below in sorted(path.iterdir()))
    places = {mag: below for mag, below in mags if mag is not None and (below / WKW_HEADER).is_file()}
    return _wkw(parts, path, name, path.name or name, places)


def _wkw(parts: Parts, path: Path, name: str, title: str, places: dict[Vec3, Path]) -> Dataset:
    arrays = {
        mag: parts.attempt(str(place), _open_wkw, place, parts.hints.roots) for mag, place in places.items()
    }
    volumes = {mag: Volume(array, "cxyz") for mag, array in arrays.items() if array is not None}
    if volumes:
        parts.add(title, _guess(next(iter(volumes.values())).stored_dtype), volumes)
    return parts.dataset(name, path, "wkw")


def _open_wkw(path: Path, roots: tuple[Path, ...]) -> wkw.WkwArray:
    require_inside(path, roots)
    array = wkw.open(path, mode="r")
    if 0 in array.shape:
        raise NodeNotFoundError(f"{path}: there are no files of voxels, expected some beside the header")
    return array


def _array(parts: Parts, path: Path, name: str) -> Dataset:
    _add_array(parts, stem(path) or name, fastzarr.open_array(path, mode="r"))
    return parts.dataset(name, path, "zarr")


def _group(parts: Parts, path: Path, name: str) -> Dataset:
    """A group of Zarr; its layers are the arrays directly in it."""
    for place in sorted(path.iterdir()):
        if not place.name.startswith(".") and place.is_dir() and is_array(place, parts.hints.roots):
            array = parts.attempt(place.name, open_below, parts, path, place.name)
            if array is not None:
                parts.attempt(place.name, _add_array, parts, place.name, array)
    return parts.dataset(name, path, "zarr")


def _add_array(parts: Parts, title: str, array: fastzarr.Array) -> None:
    reason = axes.reason_against(array)
    if reason is not None:
        parts.remarks.append(f"{title}: only its stored keys are served: {reason}")
    else:
        parts.add_arrays(title, _guess(array.dtype), {(1, 1, 1): array}, axes.of_array(array))


def _guess(dtype: np.dtype[Any]) -> Category:
    """Labels are stored as unsigned integers of 32 or 64 bits, as intensities hardly ever are."""
    return "segmentation" if dtype.kind == "u" and dtype.itemsize >= 4 else "color"


_FORMS: dict[Form, tuple[Callable[[Parts, Path, str], Dataset], Kind]] = {
    "webknossos": (open_webknossos, "wkw"),
    "wkw mag": (_mag, "wkw"),
    "wkw layer": (_layer, "wkw"),
    "array": (_array, "zarr"),
    "image": (open_image, "ome-zarr"),
    "group": (_group, "zarr"),
}
"""How each form is opened, and what it is where that fails."""
