"""How far packing is, on a terminal and elsewhere."""

import io

from tinkbox.cli.output.packing_progress import PackingProgress
from tinkbox.model.system_image import Progress, Stage


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def told(out: io.StringIO) -> str:
    seconds = iter([0.0, 0.0, 1.0, 6.0, 7.0])
    progress = PackingProgress(out, lambda: next(seconds))
    for number in range(3):
        progress(Progress(stage=Stage.PACKING, done=number << 30, total=4 << 30))
    progress(Progress(stage=Stage.UNPACKING, done=5 << 20, total=0))
    progress.close()
    return out.getvalue()


def test_a_line_comes_every_few_seconds_where_it_stays() -> None:
    assert told(io.StringIO()) == "Packing the disk: 2GiB of 4GiB (50%)\n"


def test_one_line_changes_on_a_terminal_and_goes() -> None:
    erase = "\r\x1b[2K"
    assert told(Terminal()) == (
        f"{erase}Packing the disk: 1GiB of 4GiB (25%){erase}Packing the disk: 2GiB of 4GiB (50%)"
        f"{erase}Decompressing the file: 5MiB{erase}"
    )
