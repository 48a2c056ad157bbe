"""Writes one file into a file system of a disk; see ../writefile/README.md for its variables."""

import os
import sys

from advice import ADVICE
from failure import run
from file_writing import parameters, write_on_disk


def main() -> None:
    write_on_disk(parameters(os.environ))


if __name__ == "__main__":
    sys.exit(run(main, advice=ADVICE))
