"""What there is, as JSON: `/api/datasets`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from fastzarr.serve.datasets import Dataset, Layer
from fastzarr.serve.http import JSON, Request, Response
from fastzarr.serve.routes import Route
from fastzarr.serve.site import Site
from fastzarr.serve.wishes import dataset_of

_HEADERS = (("Cache-Control", "no-cache"),)


def list_datasets(site: Site, request: Request) -> Response:
    """Every dataset, and what was not looked at when they were looked for."""
    catalogue = site.catalogue
    found = {
        "datasets": [describe(dataset, site, request) for dataset in catalogue.datasets.values()],
        "problems": _shown(catalogue.problems, site),
    }
    return Response(body=json.dumps(found).encode(), media_type=JSON, headers=_HEADERS)


def get_dataset(site: Site, request: Request) -> Response:
    """One dataset."""
    dataset = dataset_of(site, request.params["dataset"])
    return Response(
        body=json.dumps(describe(dataset, site, request)).encode(), media_type=JSON, headers=_HEADERS
    )


def describe(dataset: Dataset, site: Site, request: Request) -> dict[str, Any]:
    """A dataset with its layers, and where to have it; links carry the token on."""
    return {
        "name": dataset.name,
        "kind": dataset.kind,
        "voxel_size": list(dataset.voxel_size),
        "voxel_size_known": dataset.voxel_size_known,
        "layers": [_layer(layer) for layer in dataset.layers.values()],
        "problems": _shown(dataset.problems, site),
        "remarks": _shown(dataset.remarks, site),
        "urls": _urls(dataset, request),
    }


def _shown(texts: Iterable[str], site: Site) -> list[str]:
    """Texts without the place of what is served."""
    source = site.settings.source
    root = str(source.parent if source.is_file() else source)
    return [text.replace(f"file://{root}", root).replace(f"{root}/", "").replace(root, ".") for text in texts]


def _layer(layer: Layer) -> dict[str, Any]:
    box = layer.bounding_box
    return {
        "name": layer.name,
        "category": layer.category,
        "dtype": layer.dtype.name,
        "channels": layer.channels,
        "bounding_box": {"offset": list(box.offset), "size": list(box.size)},
        "mags": [list(mag) for mag in layer.mags],
        "additional_axes": [{"name": name, "size": size} for name, size in layer.additional_axes],
        "default_position": list(layer.default_position),
        "largest_segment_id": layer.largest_segment_id,
    }


def _urls(dataset: Dataset, request: Request) -> dict[str, str | None]:
    """`neuroglancer` is a source of data as neuroglancer writes it; null is what there isn't."""
    name = quote(dataset.name, safe="")
    token = f"?token={quote(request.token, safe='')}" if request.token else ""
    below = f"{request.root}/data/zarr3_experimental/{name}/" if dataset.layers else None
    return {
        "zarr": None if dataset.kind == "wkw" or dataset.elsewhere else f"{request.root}/zarr/{name}/{token}",
        "zarr3": below and below + token,
        "zarr2": below and f"{request.root}/data/zarr/{name}/{token}",
        "neuroglancer": below and f"zarr3://{below}{token}",
        "webknossos": below and f"{below}datasource-properties.json{token}",
    }


ROUTES = (
    Route(method="GET", pattern="/api/datasets", handler=list_datasets, name="datasets"),
    Route(method="GET", pattern="/api/datasets/{dataset}", handler=get_dataset, name="dataset"),
)
"""Both answer from what is in memory."""
