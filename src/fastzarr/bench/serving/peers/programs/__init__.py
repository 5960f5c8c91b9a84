"""Applications that run in the environment of other servers, without fastzarr."""
