"""The files of the pages: served without a token, checked by their tags, and nothing from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import served_data

from fastzarr.serve.pages import DIRECTORY

FILES = sorted(path.name for path in DIRECTORY.iterdir())


@pytest.fixture
def client(tmp_path: Path, in_process: Callable[..., Any]) -> Any:
    served_data.make_volume(tmp_path)
    return in_process(tmp_path, token="secret")


@pytest.mark.parametrize("path", ["/", "/view/color.zarr", *(f"/static/{name}" for name in FILES)])
def test_files_need_no_token_and_are_checked_by_their_tags(client: Any, path: str) -> None:
    answer = client.get(path)
    assert answer.status == 200
    assert answer.headers["content-type"].startswith(("text/", "image/svg"))
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["referrer-policy"] == "no-referrer"
    again = client.get(path, if_none_match=answer.headers["etag"])
    assert (again.status, again.body) == (304, b"")


@pytest.mark.parametrize(
    "path", ["/static/none.js", "/static/__init__.py", "/static/..%2f__init__.py", "/static/", "/static"]
)
def test_other_files_are_not_there(client: Any, path: str) -> None:
    assert client.get(path, x_auth_token="secret").status in (400, 404)


def test_data_behind_the_pages_needs_the_token(client: Any) -> None:
    assert client.get("/api/datasets").status == 401


@pytest.mark.parametrize("name", FILES)
def test_nothing_is_loaded_from_elsewhere(name: str) -> None:
    text = (DIRECTORY / name).read_text(encoding="utf-8")
    loaded = re.findall(r"""(?:src|href|import|from|url)\s*[=(]?\s*["'(]([^"')]+)""", text)
    assert not [address for address in loaded if "//" in address]


def test_every_file_that_is_named_is_there() -> None:
    for name in FILES:
        text = (DIRECTORY / name).read_text(encoding="utf-8")
        imported = re.findall(r'from "\./([^"]+)"', text) + re.findall(r'static/([\w.]+)"', text)
        assert set(imported) <= set(FILES), name
