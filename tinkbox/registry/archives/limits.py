"""How much an image archive may have: whoever writes one keeps to what whoever reads it takes."""

from typing import Final

MAX_NAMES: Final = 1000  # that people gave to images; those of signatures by their tags are not counted
MAX_MANIFESTS: Final = 10_000
MAX_ARCHIVE: Final = 64 << 30  # bytes, also when decompressed
MAX_MEMBERS: Final = 100_000
