"""The error of a setting that cannot be served."""


class ConfigError(ValueError):
    """A setting that cannot be served; the message names the flag and what would be right."""
