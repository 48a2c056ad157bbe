"""What `tinkbox workflow create` tells of what it made, for people and for programs."""

import argparse
from collections.abc import Sequence
from typing import Final

from tinkbox.cli.output.formats import Document, json_of, yaml_of

FORMATS: Final = ("table", "json", "yaml", "name")
FORMATS_HELP: Final = "of what was made, or would be: table (default), json, yaml; name: ids"


def tell_made(chosen: argparse.Namespace, kind: str, made: Sequence[Document]) -> None:
    """Print the workflows or rollouts that were made; `kind` is the word for one."""
    if chosen.format == "json":
        print(json_of(list(made)), end="", flush=True)
    elif chosen.format == "yaml":
        print(yaml_of(list(made)), end="", flush=True)
    else:
        before = "" if chosen.format == "name" else f"Created {kind}:  "
        for each in made:
            print(f"{before}{each['id']}", flush=True)
