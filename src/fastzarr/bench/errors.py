"""What goes wrong before anything is timed."""


class BenchmarkError(ValueError):
    """Bad input to the benchmark; the text names the setting, the value found and what is allowed."""
