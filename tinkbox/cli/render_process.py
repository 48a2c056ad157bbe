"""`tinkbox --render`: what the appliance starts to render one Jinja2 template.  Nobody types it."""

import argparse
import sys


def render(_: argparse.Namespace) -> None:
    from tinkbox.engine.templates.jinja_confinement import answer

    answer(sys.stdin.buffer, sys.stdout.buffer)
