"""Settings of all tests."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "fastzarr", deadline=None, max_examples=200, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("fastzarr")
