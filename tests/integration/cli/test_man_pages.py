"""The man pages as the programs read them that show them."""

import re
import subprocess
from pathlib import Path

from tests.integration.cli.completing import require
from tinkbox.cli.command_line import command_line
from tinkbox.cli.nouns import NOUNS
from tinkbox.cli.reference import man
from tinkbox.cli.reference.declarations import declared


def test_groff_warns_of_nothing(tmp_path: Path) -> None:
    require("groff")
    paths = []
    for name, text in man.pages(declared(command_line(list(NOUNS)))).items():
        paths.append(tmp_path / name)
        paths[-1].write_text(text)
    ended = subprocess.run(
        ["groff", "-man", "-ww", "-Tutf8", "-P-c", *map(str, paths)], capture_output=True, text=True, check=True
    )
    assert ended.stderr == ""
    # Bold is a letter, a step back, and the letter again: so `-P-c` has it of every groff.
    assert "tinkbox workflow create [-t TEMPLATE]" in " ".join(re.sub(r".\x08", "", ended.stdout).split())
