"""install-image by its old name: an image from a web server, byte for byte; see ../image2disk/README.md for its variables."""

import os
import sys

from advice import ADVICE
from failure import Failure, run
from installation import install
from parameters import of_image2disk


def main() -> None:
    try:
        install(of_image2disk(os.environ))
    except Failure as failure:
        if failure.reason == "DiskTooSmall":  # what it was called in every release, and may be waited for
            raise Failure("ImageTooLarge", str(failure), failure.hint) from None
        raise


if __name__ == "__main__":
    sys.exit(run(main, advice=ADVICE))
