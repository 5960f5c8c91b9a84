"""Settings of all tests."""

import gc
import signal
from unittest.mock import Mock

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "fastzarr", deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("fastzarr")

unfreeze = Mock(wraps=gc.unfreeze)


def freeze() -> None:
    """Collections of garbage, as before each sample, need not look at the tests, which are most objects."""
    gc.collect()
    gc.freeze()


def pytest_collection_finish() -> None:
    gc.unfreeze = unfreeze
    freeze()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Runs of the benchmark end by unfreezing all; commands in this process leave a handler of SIGTERM.

    Processes that are forked later would have the handler, and a pool of them could wait for its end forever.
    """
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if unfreeze.called:
        unfreeze.reset_mock()
        freeze()
