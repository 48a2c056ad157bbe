"""How much `apply` takes at once."""

from typing import Final

MAX_DOCUMENT: Final = 1024 * 1024  # letters of one document, or of a list in JSON
# A file for each of 10,000 machines, and their templates.
MAX_FILES: Final = 12_000
# What `export` prints of 10,000 machines with 1,600 letters each; in a body that the door takes (body_bytes).
MAX_APPLIED: Final = 16 * 1024 * 1024  # letters, also of one file
