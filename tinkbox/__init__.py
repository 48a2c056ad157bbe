"""tinkbox: takes machines from bare metal to installed system."""

__version__ = "0.1.0"
