"""The checkout at a place where any user of the host reads it, in a mount namespace: below /root nobody but root does."""

import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PLACE: Final = Path("/mnt")


def there(path: str | Path) -> str:
    """A path of the checkout as it is at that place; any other as it is."""
    path = Path(path)
    return str(PLACE / path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


PYTHON: Final = there(sys.executable)
# Before a command that is started as root: then it runs there.
BEFORE: Final = ("unshare", "--mount", "sh", "-c", f'mount --bind \'{ROOT}\' {PLACE} && cd {PLACE} && exec "$0" "$@"')
