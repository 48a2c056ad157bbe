"""`tinkbox --render`: what the appliance starts to render one template.  Nobody types it."""

import argparse
import sys


def render(_: argparse.Namespace) -> None:
    from tinkbox.engine.templates.confinement import answer

    answer(sys.stdin.buffer, sys.stdout.buffer)
