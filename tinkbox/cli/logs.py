"""`tinkbox workflow logs`."""

import argparse
import codecs
import sys
from typing import TextIO

from tinkbox.cli.appliance import ask
from tinkbox.cli.output import Document, clean, clean_block
from tinkbox.client.operator import Operator
from tinkbox.model.errors import Unavailable


def logs(chosen: argparse.Namespace) -> None:
    """Print what a workflow's actions printed, byte by byte, without loss or repetition over a restart of the appliance.

    Which attempt it is of, and what of it was not kept, goes to standard error.
    """
    import asyncio

    async def printed(operator: Operator) -> None:
        workflow_id = (await operator.workflow(chosen.key))["id"]
        page, place = Page(sys.stdout, sys.stderr), ""
        while True:
            try:
                async for reached, piece in operator.workflow_output(workflow_id, place, follow=chosen.follow):
                    place = reached
                    if piece is not None:
                        page.show(piece)
                return
            except Unavailable as error:
                if not place:
                    raise
                print(f"tinkbox: {clean(str(error))}; trying again", file=sys.stderr)
            await asyncio.sleep(1)

    ask(chosen, printed)


class Page:
    """Where output is shown: on a terminal without what could steer it, elsewhere as it is."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out = out
        self._err = err
        self._attempt = ""
        self._in_line = False
        self._shown = _Decoder()

    def show(self, piece: Document) -> None:
        """Show one piece, under a line that names the attempt when it is another's than the last."""
        import base64

        if piece["attempt"] != self._attempt:
            self._attempt, self._shown = piece["attempt"], _Decoder()
            again = f", attempt {piece['number']}" if piece["number"] > 1 else ""
            self._say(f"==> {piece['task']} / {piece['action']}{again} <==")
        if piece["missing"]:
            self._say(f"[{piece['missing']} bytes were not kept]")
        self._put(base64.b64decode(piece["output"]))

    def _say(self, line: str) -> None:
        if self._in_line:
            # Where both are the same terminal, this would be taken for output.
            self._out.write("\n")
            self._out.flush()
            self._in_line = False
        print(clean(line), file=self._err, flush=True)

    def _put(self, content: bytes) -> None:
        if self._out.isatty():
            text = self._shown.text(content)
            self._out.write(text)
            self._in_line = bool(text) and not text.endswith("\n")
        else:
            self._out.buffer.write(content)
        self._out.flush()


class _Decoder:
    """Bytes of one attempt as text that cannot steer a terminal, though they be cut anywhere."""

    def __init__(self) -> None:
        self._utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._held = ""

    def text(self, content: bytes) -> str:
        text = self._held + self._utf8.decode(content)
        # Only what comes next says whether this ends a line alone.
        self._held = "\r" if text.endswith("\r") else ""
        return clean_block(text.removesuffix("\r"))
