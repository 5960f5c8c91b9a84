"""The range that a request asks for, as RFC 9110 has it."""

import pytest

from fastzarr.serve.byte_range import part
from fastzarr.serve.http import HttpError


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("bytes=0-0", (0, 1)),
        ("bytes=2-5", (2, 4)),
        ("bytes=2-", (2, 8)),
        ("bytes=-3", (7, 3)),
        ("bytes=-99", (0, 10)),
        ("bytes=9-99", (9, 1)),
        ("bytes=0-99999999999999999999999999", (0, 10)),
        ("bytes=-" + "9" * 10_000, (0, 10)),
        ("bytes=" + "0" * 5000 + "3-4", (3, 2)),
        ("BYTES = 1-2", (1, 2)),
    ],
)
def test_one_range_is_found(header: str, found: tuple[int, int]) -> None:
    assert part(header, 10) == found


@pytest.mark.parametrize(
    "header",
    [
        *(None, "", "bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=0-1,3-4", "items=0-1", "bytes=1"),
        *("bytes=--1", "bytes=0-1x", "bytes=0x1-2", "bytes=١-٢", "bytes=1.0-2"),
    ],
)
def test_all_is_sent_where_no_one_range_of_bytes_is_asked_for(header: str | None) -> None:
    assert part(header, 10) is None


@pytest.mark.parametrize(
    "header", ["bytes=10-", "bytes=10-12", "bytes=5-4", "bytes=-0", "bytes=-000", "bytes=" + "9" * 5000 + "-"]
)
def test_what_is_not_there_is_refused_with_the_size(header: str) -> None:
    with pytest.raises(HttpError, match="expected a part of 10 bytes") as caught:
        part(header, 10)
    assert caught.value.status == 416
    assert ("Content-Range", "bytes */10") in caught.value.headers
    assert len(caught.value.message) < 200


def test_an_empty_file_has_no_part() -> None:
    assert part("bytes=-5", 0) is None
    for header in ("bytes=0-", "bytes=0-0", "bytes=-0"):
        with pytest.raises(HttpError):
            part(header, 0)
