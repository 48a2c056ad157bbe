"""`tinkbox --read-image`: what `image import` starts to take a disk image apart.  Nobody types it."""

import argparse
import sys


def read(chosen: argparse.Namespace) -> None:
    from tinkbox.system_images.reading import answer

    answer(chosen.read_image, sys.stdin.fileno(), sys.stdout.buffer)
