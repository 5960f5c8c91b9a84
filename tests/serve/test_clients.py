"""Other libraries read stored and virtual arrays from a real server, and see every voxel."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import conftest
import numpy as np
import pytest
import served_samples
from numpy.typing import NDArray

import fastzarr
from fastzarr.bench.compat.implementations import NotAvailableError, zarrita_command
from fastzarr.storage import FsspecStore, ObjectStore

LAYERS = served_samples.layers()
ONE = (1, 1, 1)
LABELS = LAYERS["labels"].mags[ONE]


class Target(NamedTuple):
    """An array of the server."""

    path: str
    zarr_format: int
    data: NDArray[Any]
    """All its elements."""


TARGETS = {
    "stored sharded v3": Target("/zarr/sharded", 3, LABELS),
    "stored v3 in a group": Target("/zarr/group/labels", 3, LABELS),
    "stored v2": Target("/zarr/plain", 2, LABELS),
} | {
    f"virtual v{zarr_format} {layer} {block_type}": Target(f"{root}/brain/{layer}/1", zarr_format, data)
    for zarr_format, root in ((3, "/data/zarr3_experimental"), (2, "/data/zarr"))
    for layer, (_, block_type, mags) in ((n, vars(sample).values()) for n, sample in LAYERS.items())
    for data in [mags[ONE]]
}
DAMAGED = {
    "stored sharded v3": Target("/zarr/sharded", 3, LABELS),
    "virtual v3": Target("/data/zarr3_experimental/brain/color/1", 3, LABELS),
    "virtual v2": Target("/data/zarr/brain/color/1", 2, LABELS),
}


def write(root: Path) -> None:
    served_samples.write_wkw(root / "brain", LAYERS)
    served_samples.write_sharded(root / "sharded", LABELS)
    fastzarr.create_group(root / "group")
    served_samples.write_sharded(root / "group/labels", LABELS)
    served_samples.write_v2(root / "plain", LABELS)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("clients") / "served"
    write(root)
    return root


@pytest.fixture(scope="module", params=["uvicorn", "granian"])
def server(request: pytest.FixtureRequest, directory: Path) -> Iterator[conftest.Server]:
    log = directory.with_name(f"{request.param}.log")
    started = conftest.start_server(
        directory, "--server", request.param, "--cors", "http://example.org", log=log
    )
    yield started
    started.stop()


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[conftest.Server]:
    """Serves the same, with a file cut off."""
    root = tmp_path_factory.mktemp("damaged")
    write(root / "served")
    for place in ("brain/color/1/z0/y0/x0.wkw", "sharded/c/0/0/0/0"):
        file = root / "served" / place
        file.write_bytes(file.read_bytes()[:-1000])
    started = conftest.start_server(root / "served", log=root / "server.log")
    yield started
    started.stop()


def through_zarr_and_fsspec(url: str, zarr_format: Any) -> Any:
    import zarr

    return zarr.open_array(url, mode="r", zarr_format=zarr_format)[...]


def through_zarr_and_obstore(url: str, zarr_format: Any) -> Any:
    import zarr
    from obstore.store import HTTPStore
    from zarr.storage import ObjectStore as Objects

    store = HTTPStore.from_url(url, client_options={"allow_http": True}, retry_config={"max_retries": 0})
    return zarr.open_array(Objects(store, read_only=True), mode="r", zarr_format=zarr_format)[...]


def through_tensorstore(url: str, zarr_format: int) -> Any:
    import tensorstore

    spec = {
        "driver": "zarr" if zarr_format == 2 else "zarr3",
        "kvstore": f"{url}/",
        "context": {"http_request_retries": {"max_retries": 1}},
    }
    return tensorstore.open(spec, read=True).result().read().result()


def through_fastzarr_and_obstore(url: str, zarr_format: Any) -> Any:
    store = ObjectStore.from_url(url, storage_options={"retry_config": {"max_retries": 0}})
    return fastzarr.open_array(store, mode="r", zarr_format=zarr_format)[...]


def through_fastzarr_and_fsspec(url: str, zarr_format: Any) -> Any:
    return fastzarr.open_array(FsspecStore.from_url(url), mode="r", zarr_format=zarr_format)[...]


CLIENTS: dict[str, Callable[[str, int], Any]] = {
    "zarr-python, fsspec": through_zarr_and_fsspec,
    "zarr-python, obstore": through_zarr_and_obstore,
    "tensorstore": through_tensorstore,
    "fastzarr, obstore": through_fastzarr_and_obstore,
    "fastzarr, fsspec": through_fastzarr_and_fsspec,
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("client", CLIENTS)
def test_every_element_is_read(server: conftest.Server, client: str, target: str) -> None:
    path, zarr_format, data = TARGETS[target]
    found = np.asarray(CLIENTS[client](server.url + path, zarr_format))
    assert found.dtype == data.dtype
    np.testing.assert_array_equal(found, data)


@pytest.mark.parametrize("target", DAMAGED)
@pytest.mark.parametrize("client", CLIENTS)
def test_damaged_data_is_an_error_and_not_zero(damaged: conftest.Server, client: str, target: str) -> None:
    path, zarr_format, _ = DAMAGED[target]
    with pytest.raises(Exception, match=r"500|checksum|mismatch") as caught:
        CLIENTS[client](damaged.url + path, zarr_format)
    assert ("500" in str(caught.value)) == target.startswith("virtual"), caught.value


@pytest.fixture(scope="module")
def zarrita(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Reads an array with zarrita.js; gives its elements and what it says."""
    try:
        node, program = zarrita_command()
    except NotAvailableError as error:
        pytest.skip(str(error))
    place = tmp_path_factory.mktemp("zarrita")
    (place / "node_modules").symlink_to(Path(program).parent / "node_modules")
    name = "read_over_http.mjs"
    shutil.copy(Path(__file__).with_name(name), place / name)

    def read(url: str, zarr_format: int, kind: str) -> tuple[NDArray[Any], Any]:
        command = [node, str(place / name), url, str(zarr_format), kind, str(place / "elements")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        if done.returncode:
            raise RuntimeError(done.stderr)
        said = json.loads(done.stdout)
        return np.fromfile(place / "elements", said["dtype"]).reshape(said["shape"]), said["asked"]

    return read


@pytest.mark.parametrize(
    ("target", "kind"), [*((name, "head") for name in TARGETS), ("stored sharded v3", "suffix")]
)
def test_zarrita_reads_every_element(
    server: conftest.Server, zarrita: Callable[..., Any], target: str, kind: str
) -> None:
    path, zarr_format, data = TARGETS[target]
    found, asked = zarrita(server.url + path, zarr_format, kind)
    np.testing.assert_array_equal(found, data)
    if "sharded" in target:
        ends = [line for line in asked if line.startswith("HEAD" if kind == "head" else "GET bytes=-")]
        assert len(ends) == 4  # indices of shards


@pytest.mark.parametrize("target", DAMAGED)
def test_zarrita_takes_damaged_data_for_an_error(
    damaged: conftest.Server, zarrita: Callable[..., Any], target: str
) -> None:
    path, zarr_format, _ = DAMAGED[target]
    with pytest.raises(RuntimeError, match="status 500" if target.startswith("virtual") else "Error"):
        zarrita(damaged.url + path, zarr_format, "head")


def test_clients_that_show_a_token(
    tmp_path: Path, serving: Callable[..., conftest.Server], zarrita: Callable[..., Any]
) -> None:
    import zarr

    write(tmp_path / "served")
    server = serving(tmp_path / "served", "--token", "a/secret+1")
    headers = {"Authorization": "Bearer a/secret+1"}
    for path in ("/zarr/sharded", "/data/zarr3_experimental/brain/labels/1"):
        url = server.url + path
        assert server.get(f"{path}/zarr.json").status == 401
        found, _ = zarrita(f"{url}?token=a%2Fsecret%2B1", 3, "suffix")
        np.testing.assert_array_equal(found, LABELS)
        array = zarr.open_array(url, mode="r", storage_options={"headers": headers})
        np.testing.assert_array_equal(array[...], LABELS)
        options = {"client_options": {"default_headers": headers}}
        ours = fastzarr.open_array(ObjectStore.from_url(url, storage_options=options), mode="r")
        np.testing.assert_array_equal(ours[...], LABELS)


def test_groups_tell_their_members(server: conftest.Server) -> None:
    import zarr

    for root, zarr_format in (("/data/zarr3_experimental", 3), ("/data/zarr", 2)):
        group = zarr.open_group(f"{server.url}{root}/brain", mode="r", zarr_format=zarr_format)
        names = {name for name, _ in group.members(max_depth=None)}
        assert {*LAYERS, "color/1", "color/2-2-1"} <= names
        np.testing.assert_array_equal(group["color/2-2-1"][...], LAYERS["color"].mags[2, 2, 1])
    store = ObjectStore.from_url(f"{server.url}/data/zarr3_experimental/brain")
    ours = fastzarr.open_group(store, mode="r")
    assert sorted(ours) == sorted(LAYERS)


def test_fsspec_lists_directories(server: conftest.Server) -> None:
    import fsspec

    system = fsspec.filesystem("http")
    base = f"{server.url}/zarr/group"
    assert sorted(system.ls(f"{base}/", detail=False)) == [f"{base}/labels/", f"{base}/zarr.json"]
    found = system.find(f"{base}/labels/")
    assert f"{base}/labels/c/0/0/0/0" in found


def test_xarray_opens_a_virtual_layer(server: conftest.Server) -> None:
    xarray = pytest.importorskip("xarray")
    for root, zarr_format in (("/data/zarr3_experimental", 3), ("/data/zarr", 2)):
        url = f"{server.url}{root}/brain/labels"
        # In Zarr v2 it takes the fill value for what isn't there, and makes NaN of it, unless told otherwise.
        options = {"consolidated": False, "chunks": None, "mask_and_scale": zarr_format == 3}
        opened = xarray.open_zarr(url, zarr_format=zarr_format, **options)
        assert opened["1"].dims == ("c", "x", "y", "z")
        np.testing.assert_array_equal(opened["1"].values, LABELS)


WEBKNOSSOS_PROGRAM = """
import sys
import numpy as np
import webknossos
from upath import UPath

for url, file in zip(sys.argv[1::2], sys.argv[2::2]):
    dataset = webknossos.Dataset.open(UPath(url))
    np.save(file, dataset.get_layer("rgb").get_mag(1).read())
    print(*dataset.voxel_size, *dataset.get_layer("rgb").bounding_box.topleft)
"""


def test_the_package_of_webknossos_opens_virtual_datasets(server: conftest.Server, tmp_path: Path) -> None:
    given = os.environ.get("FASTZARR_WEBKNOSSOS_PYTHON")
    python = Path(given or Path(__file__).parents[2] / ".venv/webknossos/bin/python")
    if not python.exists():
        pytest.skip(f"{python} is missing: FASTZARR_WEBKNOSSOS_PYTHON names a Python with webknossos 4.3")
    roots = ("/data/zarr3_experimental", "/data/zarr")
    files = [tmp_path / f"{number}.npy" for number in range(len(roots))]
    command = [python, "-W", "ignore", "-c", WEBKNOSSOS_PROGRAM]
    for root, file in zip(roots, files, strict=True):
        command += [f"{server.url}{root}/brain", file]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["11.0 12.0 25.0 5 6 7"] * 2
    x, y, z = served_samples.OFFSET
    for file in files:
        np.testing.assert_array_equal(np.load(file), LAYERS["rgb"].mags[ONE][:, x:, y:, z:])


def test_headers_for_pages_of_other_sites(server: conftest.Server) -> None:
    for path in ("/zarr/sharded/c/0/0/0/0", "/data/zarr3_experimental/brain/color/1/0.0.0.0"):
        answer = server.get(path, origin="http://example.org", range="bytes=0-9")
        assert answer.status == 206
        assert answer.headers["access-control-allow-origin"] == "http://example.org"
        exposed = {
            name.strip().lower() for name in answer.headers["access-control-expose-headers"].split(",")
        }
        assert {"content-range", "content-length", "etag", "accept-ranges"} <= exposed
        asked = server.request(
            "OPTIONS",
            path,
            headers={
                "Origin": "http://example.org",
                "Access-Control-Request-Method": "GET",
                "Access-Control-Request-Headers": "range",
            },
        )
        assert asked.status in (200, 204)
        allowed = asked.headers["access-control-allow-headers"].lower()
        assert "range" in [name.strip() for name in allowed.split(",")]
        assert "access-control-allow-origin" not in server.get(path, origin="http://other.org").headers
    absent = server.get("/data/zarr3_experimental/brain/color/1/0.2.0.0", origin="http://example.org")
    assert (absent.status, absent.headers["access-control-allow-origin"]) == (404, "http://example.org")


def test_large_files_and_parts_are_sent_whole(server: conftest.Server, directory: Path) -> None:
    stored = (directory / "sharded/c/0/0/0/0").read_bytes()
    assert len(stored) > 300_000
    for header, part in {
        "bytes=0-": slice(None),
        "bytes=1-299999": slice(1, 300_000),
        "bytes=-300000": slice(-300_000, None),
    }.items():
        answer = server.get("/zarr/sharded/c/0/0/0/0", range=header)
        assert (answer.status, answer.body == stored[part]) == (206, True)
    assert server.get("/zarr/sharded/c/0/0/0/0").body == stored
    head = server.request("HEAD", "/zarr/sharded/c/0/0/0/0")
    assert (head.status, head.body, head.headers["content-length"]) == (200, b"", str(len(stored)))
