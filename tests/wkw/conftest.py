"""Every test here may ask for both ways that chunks take."""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from kernel_paths import needs_kernel, without_kernel


@pytest.fixture(params=[pytest.param("kernel", marks=needs_kernel), "python"])
def way(request: Any) -> Iterator[str]:
    """Arrays are opened with the compiled kernel, or without it."""
    with without_kernel() if request.param == "python" else contextlib.nullcontext():
        yield request.param
