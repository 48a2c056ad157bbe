"""Installs an operating system's disk image on a disk; see README.md for its variables."""

import os
import sys

from advice import ADVICE
from failure import run
from installation import install
from parameters import of_install_image


def main() -> None:
    install(of_install_image(os.environ))


if __name__ == "__main__":
    sys.exit(run(main, advice=ADVICE))
