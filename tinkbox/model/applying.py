"""How much `apply` takes at once."""

from typing import Final

MAX_FILE: Final = 1024 * 1024  # letters
# A file for each of 10,000 machines, and their templates.
MAX_FILES: Final = 12_000
MAX_APPLIED: Final = 8 * 1024 * 1024  # letters
