"""`python -m tinkbox` is the same program as the packed executable."""

import sys

from tinkbox.cli import main

if __name__ == "__main__":
    sys.exit(main())
