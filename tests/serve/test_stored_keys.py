"""Stored keys over HTTP: what is served, how, and what is not."""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Callable
from email.utils import formatdate
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
import served_samples
from conftest import Client

import fastzarr
from fastzarr.serve import stored_keys
from fastzarr.volumes import properties
from fastzarr.volumes.boxes import BoundingBox

DATA = np.arange(40 * 30 * 20, dtype="u2").reshape(40, 30, 20)
LAYOUTS = {
    "v3": {"chunks": (16, 16, 16)},
    "sharded": {"chunks": (8, 8, 8), "shards": (32, 16, 16)},
    "dots": {"chunks": (16, 16, 16), "chunk_key_encoding": ("default", ".")},
    "v2": {"chunks": (16, 16, 16), "zarr_format": 2},
    "v2 nested": {"chunks": (16, 16, 16), "zarr_format": 2, "chunk_key_encoding": ("v2", "/")},
}


@pytest.fixture
def client(tmp_path: Path, in_process: Callable[..., Client]) -> Client:
    """Serves a dataset for each layout, and the group `image` with an array at `level/0`."""
    root = tmp_path / "served"
    for name, layout in LAYOUTS.items():
        fastzarr.create_array(root / name, data=DATA, **layout)
    image = fastzarr.create_group(root / "image")
    image.create_array("level/0", data=DATA, chunks=(16, 16, 16))
    (tmp_path / "secret").write_text("of others")
    return in_process(root)


def root_of(client: Client) -> Path:
    return client.site.settings.source


def files(directory: Path) -> dict[str, bytes]:
    return {str(p.relative_to(directory)): p.read_bytes() for p in directory.rglob("*") if p.is_file()}


@pytest.mark.parametrize("name", [*LAYOUTS, "image"])
def test_every_file_of_a_hierarchy_is_served_as_it_is(client: Client, name: str) -> None:
    stored = files(root_of(client) / name)
    assert len(stored) > 2
    for key, content in stored.items():
        answer = client.get(f"/zarr/{quote(name)}/{key}")
        assert (answer.status, answer.body) == (200, content)
        is_document = key.rpartition("/")[2] in ("zarr.json", ".zarray", ".zattrs", ".zgroup")
        assert answer.headers["content-type"] == (
            "application/json" if is_document else "application/octet-stream"
        )
        assert answer.headers["cache-control"] == (
            "public, no-cache" if is_document else "public, max-age=60"
        )
        assert answer.headers["accept-ranges"] == answer.headers["accept-range"] == "bytes"
        assert "content-encoding" not in answer.headers
        head = client.head(f"/zarr/{quote(name)}/{key}")
        assert (head.status, head.body) == (200, b"")
        same = ("content-length", "etag", "last-modified", "content-type", "cache-control", "accept-ranges")
        assert [head.headers[n] for n in same] == [answer.headers[n] for n in same]


@pytest.mark.parametrize("large", [False, True], ids=["small", "large"])
def test_parts_of_a_file(client: Client, large: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if large:
        monkeypatch.setattr(stored_keys, "IN_MEMORY", 0)
    url = "/zarr/sharded/c/0/0/0"
    whole = (root_of(client) / "sharded/c/0/0/0").read_bytes()
    size = len(whole)
    for header, part in {
        "bytes=0-0": slice(0, 1),
        "bytes=10-19": slice(10, 20),
        "bytes=10-": slice(10, None),
        "bytes=-20": slice(size - 20, None),
        f"bytes={size - 1}-{size + 100}": slice(size - 1, None),
        f"bytes=-{size + 100}": slice(0, None),
    }.items():
        answer = client.get(url, range=header)
        start, stop, _ = part.indices(size)
        assert (answer.status, answer.body) == (206, whole[part]), header
        assert answer.headers["content-range"] == f"bytes {start}-{stop - 1}/{size}"
        assert client.head(url, range=header).headers["content-length"] == str(size)
    for header in ("bytes=0-1,3-4", "lines=0-1", "bytes=x"):
        answer = client.get(url, range=header)
        assert (answer.status, answer.body) == (200, whole), header
    for header in (f"bytes={size}-", "bytes=-0", "bytes=5-4"):
        answer = client.get(url, range=header)
        assert (answer.status, answer.headers["content-range"]) == (416, f"bytes */{size}"), header


def test_a_client_that_has_it_gets_nothing_again(client: Client) -> None:
    url = "/zarr/v3/c/0/0/0"
    first = client.get(url)
    tag = first.headers["etag"]
    assert re.fullmatch(r'"[0-9a-f-]+"', tag)
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        answer = client.get(url, if_none_match=known)
        assert (answer.status, answer.body) == (304, b"")
        assert answer.headers["etag"] == tag
        assert "content-length" not in answer.headers
    assert client.get(url, if_none_match='"other"').status == 200
    assert client.get(url, if_modified_since=first.headers["last-modified"]).status == 304
    assert client.get(url, if_modified_since=formatdate(0, usegmt=True)).status == 200
    assert client.get(url, if_modified_since="not a date").status == 200
    # The tag decides where both are given.
    both = client.get(url, if_none_match='"other"', if_modified_since=first.headers["last-modified"])
    assert both.status == 200


def test_a_part_is_of_the_version_that_is_wanted(client: Client) -> None:
    url = "/zarr/v3/c/0/0/0"
    tag = client.get(url).headers["etag"]
    assert client.get(url, range="bytes=0-3", if_range=tag).status == 206
    assert client.get(url, range="bytes=0-3", if_match=tag).status == 206
    path = root_of(client) / "v3/c/0/0/0"
    other = path.read_bytes() + b"more"
    path.write_bytes(other)
    for condition in (tag, f"W/{tag}", formatdate(usegmt=True)):
        answer = client.get(url, range="bytes=0-3", if_range=condition)
        assert (answer.status, answer.body) == (200, other)
    assert client.get(url, range="bytes=0-3", if_match=tag).status == 412
    new = client.get(url).headers["etag"]
    assert client.get(url, if_match=f'"other", {new}').status == 200
    assert client.get(url, if_match=f"W/{new}").status == 412
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))
    assert client.get(url).headers["etag"] != new
    assert client.get(url, if_match="*").status == 200
    assert client.get(url).headers["etag"] != tag


@pytest.mark.parametrize(
    "key",
    [
        "c/0/0/9",
        "c/0/0",
        "c/0/0/0/0",
        "c/00/0/0",
        "c/-1/0/0",
        "c/1e0/0/0",
        "c/0/0/١",
        "c.0.0.0",
        "0.0.0",
        "c/0/0/" + "9" * 300,
        "zarr.jso",
        "notes.txt",
        ".c.123.partial",
        "c/0/0/.0.1-2-3.partial",
        "sub/zarr.json",
        "x" * 300,
        "c/0/0/0/" + "a/" * 400 + "zarr.json",
    ],
)
def test_what_is_no_key_is_absent(client: Client, key: str) -> None:
    root = root_of(client) / "v3"
    (root / "c/0/0/9").unlink(missing_ok=True)
    for name in (
        "notes.txt",
        ".c.123.partial",
        "c/0/0/.0.1-2-3.partial",
        "0.0.0",
        "c/00/0/0",
        "sub/zarr.json",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("not yours")
    answer = client.get(f"/zarr/v3/{quote(key)}")
    assert answer.status in ((404, 301) if key == "c/0/0" else (404,))
    assert b"not yours" not in answer.body


def test_absent_datasets_and_keys_are_told(client: Client) -> None:
    answer = client.get("/zarr/nothing/zarr.json")
    assert (answer.status, "no dataset 'nothing'" in answer.body.decode()) == (404, True)
    answer = client.get("/zarr/v3/c/9/9/9")
    assert (answer.status, "no key 'c/9/9/9'" in answer.body.decode()) == (404, True)
    assert client.head("/zarr/v3/c/9/9/9").status == 404


@pytest.mark.parametrize(
    "path",
    [
        "..%2f..%2fsecret",
        "../../secret",
        "%2e%2e/%2e%2e/secret",
        "c/..%5c..%5csecret",
        "c//zarr.json",
        "zarr.json%00.png",
        "c/./zarr.json",
        "..%c0%af..%c0%afsecret",
        "%252e%252e/secret",
    ],
)
def test_no_path_leads_out(client: Client, path: str) -> None:
    answer = client.get(f"/zarr/v3/{path}")
    assert answer.status in (400, 404)
    assert b"of others" not in answer.body


def test_links_out_of_what_is_served_are_failures(client: Client, tmp_path: Path) -> None:
    root = root_of(client)
    outside = tmp_path / "outside"
    fastzarr.create_array(outside, data=np.arange(8), chunks=4)
    (root / "v3/c/0/0/0").unlink()
    (root / "v3/c/0/0/0").symlink_to(tmp_path / "secret")
    (root / "image/linked").symlink_to(outside)
    (root / "image/level/zarr.json").unlink()
    (root / "image/level/zarr.json").symlink_to(outside / "zarr.json")
    for url, status in (
        ("v3/c/0/0/0", 500),
        ("image/linked/zarr.json", 500),
        ("image/linked/c/0", 404),
        ("image/linked/", 404),
        ("image/level/zarr.json", 500),
    ):
        answer = client.get(f"/zarr/{url}")
        assert (url, answer.status, b"secret" in answer.body) == (url, status, False)
    # The document isn't looked into either: there it is that of an array, which has no nodes below.
    assert client.get("/zarr/image/level/0/zarr.json").status == 200
    assert "linked" not in client.get("/zarr/image/").body.decode()
    assert "zarr.json" not in client.get("/zarr/image/level/").body.decode()


def test_links_that_lead_nowhere_are_failures(client: Client, tmp_path: Path) -> None:
    chunks = root_of(client) / "v3/c"
    chunks.rename(tmp_path / "away")
    chunks.symlink_to("store")
    answer = client.get("/zarr/v3/c/0/0/0")
    assert (answer.status, b"a link leads nowhere" in answer.body) == (500, True)
    assert client.get("/zarr/v3/d/0/0/0").status == 404


def test_a_dataset_replaced_by_a_link_out(client: Client, tmp_path: Path) -> None:
    dataset = root_of(client) / "v3"
    dataset.rename(tmp_path / "outside")
    dataset.symlink_to(tmp_path / "outside")
    for key in ("zarr.json", "c/0/0/0", ""):
        answer = client.get(f"/zarr/v3/{key}")
        assert (answer.status, b"a link leads out" in answer.body) == (500, True)


def test_links_between_datasets_are_followed(client: Client) -> None:
    root = root_of(client)
    (root / "image/shared").symlink_to(root / "v3")
    answer = client.get("/zarr/image/shared/c/1/0/0")
    assert (answer.status, answer.body) == (200, (root / "v3/c/1/0/0").read_bytes())
    assert 'href="shared/"' in client.get("/zarr/image/").body.decode()


def test_datasets_of_a_list_keep_to_themselves(tmp_path: Path, in_process: Callable[..., Client]) -> None:
    for name in ("one", "two"):
        group = fastzarr.create_group(tmp_path / name)
        group.create_array("a", data=DATA, chunks=(16, 16, 16))
    (tmp_path / "one/linked").symlink_to(tmp_path / "two/a")
    (tmp_path / "one/inside").symlink_to(tmp_path / "one/a")
    (tmp_path / "list.toml").write_text('[[dataset]]\nname = "first"\npath = "one"\n')
    client = in_process(tmp_path / "list.toml")
    stored = (tmp_path / "one/a/c/0/0/0").read_bytes()
    assert client.get("/zarr/first/a/c/0/0/0").body == stored
    assert client.get("/zarr/first/inside/c/0/0/0").body == stored
    assert client.get("/zarr/first/linked/c/0/0/0").status == 404
    assert links(client.get("/zarr/first/").body) == ["../", "a/", "inside/", "zarr.json"]
    assert client.get("/zarr/one/a/zarr.json").status == 404


def test_webknossos_datasets_of_zarr_have_stored_keys(
    tmp_path: Path, in_process: Callable[..., Client]
) -> None:
    data = served_samples.layers()["labels"].mags[1, 1, 1]
    served_samples.write_sharded(tmp_path / "brain/labels/1", data)
    layer = properties.Layer(
        name="labels",
        category="segmentation",
        data_format="zarr3",
        dtype=data.dtype,
        bounding_box=BoundingBox(offset=(0, 0, 0), size=data.shape[1:]),
        mags=(properties.Mag(mag=(1, 1, 1)),),
    )
    properties.write(tmp_path / "brain", properties.Dataset(name="brain", scale=(1, 1, 1), layers=(layer,)))
    client = in_process(tmp_path)
    assert links(client.get("/zarr/brain/").body) == ["../", "datasource-properties.json", "labels/"]
    assert links(client.get("/zarr/brain/labels/").body) == ["../", "1/"]
    for key, content in files(tmp_path / "brain").items():
        assert client.get(f"/zarr/brain/{key}").body == content


def test_wkw_has_no_stored_keys_of_zarr(tmp_path: Path, in_process: Callable[..., Client]) -> None:
    served_samples.write_wkw(tmp_path / "brain", {"labels": served_samples.layers()["labels"]})
    client = in_process(tmp_path)
    for key in ("labels/1/header.wkw", "labels/1/z0/y0/x0.wkw", "labels/1/zarr.json", "labels/1/0.0.0.0"):
        answer = client.get(f"/zarr/brain/{key}")
        assert (answer.status, "it is WKW, see" in answer.body.decode()) == (404, True), key


def links(page: bytes) -> list[str]:
    """As Fiji takes them: pairs of link and name, of which these are the names."""
    return re.findall(r'href="[^"]+">([^<]+)', page.decode())


def test_directories_are_listed(client: Client) -> None:
    root = root_of(client)
    (root / "image/notes.txt").write_text("not yours")
    (root / "image/private").mkdir()
    fastzarr.create_array(root / "image/.hidden", data=np.arange(3))
    (root / "image/level/0/c/0/0/.0.1-2-3.partial").write_text("unfinished")
    assert links(client.get("/zarr/image/").body) == ["../", "level/", "zarr.json"]
    assert links(client.get("/zarr/image/level/").body) == ["../", "0/", "zarr.json"]
    assert links(client.get("/zarr/image/level/0/").body) == ["../", "c/", "zarr.json"]
    assert links(client.get("/zarr/image/level/0/c/2/1/").body) == ["../", "0", "1"]
    assert links(client.get("/zarr/v2/").body)[:3] == ["../", ".zarray", ".zattrs"]
    answer = client.get("/zarr/image/")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert client.head("/zarr/image/").status == 200
    for absent in (
        "image/private/",
        "image/.hidden/",
        "image/.hidden/zarr.json",
        "image/level/0/c/x/",
        "image/level/9/",
        "v3/c/0/0/0/",
    ):
        assert client.get(f"/zarr/{absent}").status == 404, absent


def test_a_directory_without_its_slash_leads_to_it(client: Client) -> None:
    for path, place in {"/zarr/image": "image/", "/zarr/v2%20nested/1": "1/"}.items():
        answer = client.get(path)
        assert (answer.status, answer.headers["location"]) == (301, place)
    assert client.get("/zarr/v2%20nested").headers["location"] == "v2%20nested/"


def test_names_are_escaped_in_pages(client: Client) -> None:
    group = fastzarr.open_group(root_of(client) / "image", mode="r+")
    group.create_array('<b>&"', data=np.arange(3))
    page = client.get("/zarr/image/").body.decode()
    assert '<a href="%3Cb%3E%26%22/">&lt;b&gt;&amp;&quot;/</a>' in page
    assert client.get("/zarr/image/%3Cb%3E%26%22/zarr.json").status == 200


def test_directories_of_too_many_names_are_not_listed(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_keys, "MOST_LISTED", 2)
    answer = client.get("/zarr/v3/c/")
    assert (answer.status, "more than 2 names" in answer.body.decode()) == (501, True)
    assert client.get("/zarr/v3/c/0/0/0").status == 200


def test_what_cannot_be_read_is_no_absent_chunk(client: Client) -> None:
    root = root_of(client)
    path = root / "v3/c/0/0/0"
    path.unlink()
    os.mkfifo(path)
    assert client.get("/zarr/v3/c/0/0/0").status == client.head("/zarr/v3/c/0/0/0").status == 500
    path.unlink()
    path.symlink_to(path)  # to itself
    assert client.get("/zarr/v3/c/0/0/0").status == 500
    (root / "dots/zarr.json").write_text("{")
    answer = client.get("/zarr/dots/c.0.0.0")
    assert (answer.status, "zarr.json" in answer.body.decode()) == (500, True)
    assert client.get("/zarr/dots/zarr.json").body == b"{"


def test_denied_is_not_absent(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(self: fastzarr.LocalStore, key: str) -> None:
        raise PermissionError(13, "Permission denied", f"{self.root}/{key}")

    monkeypatch.setattr(fastzarr.LocalStore, "snapshot", denied)
    answer = client.get("/zarr/v3/c/0/0/0")
    assert (answer.status, "Permission denied" in answer.body.decode()) == (500, True)
    assert str(root_of(client)) not in answer.body.decode()


def test_documents_that_change_are_followed(client: Client) -> None:
    root = root_of(client)
    assert client.get("/zarr/dots/c.0.0.0").status == 200
    fastzarr.create_array(root / "dots", data=DATA, chunks=(40, 30, 20), overwrite=True)
    assert client.get("/zarr/dots/c.0.0.0").status == 404
    assert client.get("/zarr/dots/c/0/0/0").status == 200


def test_answers_to_one_who_showed_a_token_are_private(
    client: Client, in_process: Callable[..., Client]
) -> None:
    private = in_process(root_of(client), token="secret token")
    assert private.get("/zarr/v3/zarr.json").status == 401
    answer = private.get("/zarr/v3/c/0/0/0?token=secret%20token")
    assert answer.headers["cache-control"] == "private, max-age=60"
    page = private.get("/zarr/image/?token=secret%20token").body.decode()
    assert 'href="level/?token=secret%20token">level/<' in page
    assert private.get("/zarr/image/level/?token=secret%20token").status == 200
    assert (
        private.get("/zarr/image?token=secret%20token").headers["location"] == "image/?token=secret%20token"
    )


def test_a_file_that_is_cut_off_while_it_is_read_is_an_error(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "pread", lambda *_: b"abc")
    answer = client.get("/zarr/v3/c/0/0/0")
    assert (answer.status, "has changed" in answer.body.decode()) == (503, True)


def test_lists_are_made_by_a_thread(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    made_by = []
    listing = stored_keys.listing

    def noted(*arguments: Any) -> Any:
        made_by.append(threading.current_thread().name)
        return listing(*arguments)

    monkeypatch.setattr(stored_keys, "listing", noted)
    assert client.get("/zarr/image/").status == 200
    assert made_by[0].startswith("fastzarr-serve")


@pytest.mark.parametrize("name", ["v3", "sharded", "v2"])
@pytest.mark.parametrize("whole", [True, False])
def test_what_is_gone_is_no_missing_chunk(client: Client, name: str, whole: bool) -> None:
    array = root_of(client) / name
    document, chunk = (".zarray", "0.0.0") if name == "v2" else ("zarr.json", "c/0/0/0")
    assert client.get(f"/zarr/{name}/{chunk}").status == 200
    assert client.get(f"/zarr/{name}/{chunk}0").status == 404
    if whole:
        shutil.rmtree(array)
    else:
        (array / document).unlink()
    for key in (chunk, document, f"{chunk}0"):
        answer = client.get(f"/zarr/{name}/{key}")
        assert answer.status == 500, key
        assert "gone since the dataset was opened; restart the server" in answer.body.decode()
        assert str(root_of(client)) not in answer.body.decode()


def test_what_is_made_anew_is_served_as_it_is(client: Client) -> None:
    path = root_of(client) / "v2"
    shutil.rmtree(path)
    fastzarr.create_array(path, shape=(8, 8), chunks=(4, 4), dtype="uint8", zarr_format=3)[:4] = 1
    assert client.get("/zarr/v2/zarr.json").body == (path / "zarr.json").read_bytes()
    assert client.get("/zarr/v2/c/0/0").body == (path / "c/0/0").read_bytes()
    assert [client.get(f"/zarr/v2/{key}").status for key in ("c/1/1", ".zarray", "0.0.0")] == [404] * 3


def test_a_directory_is_no_chunk(client: Client) -> None:
    chunk = root_of(client) / "v3/c/0/0/0"
    chunk.unlink()
    chunk.mkdir()
    answer = client.get("/zarr/v3/c/0/0/0")
    assert (answer.status, b"a directory is in the place of a chunk" in answer.body) == (500, True)
    assert client.get("/zarr/v3/c/0/0").status == 301
