"""The process that renders one template: little memory, little time, no files, no rights.

It reads `{"dialect": …, "text": …, "data": […]}` with the name of a Dialect, gives up everything that it does not
need, and writes CONFINED and a list of texts and of `{"line": …, "key": …, "text": …}` for problems; or REFUSED and the reason,
where the system does not let it give up what it has.  `rendering_process` starts it, and kills it in the end.
"""

import json
import os
from typing import BinaryIO

from tinkbox.confinement.giving_up import CONFINED, REFUSED, confine

CPU_SECONDS = 5
MEMORY_BYTES = 192 * 1024 * 1024
_BALLAST = 4 * 1024 * 1024


def answer(source: BinaryIO, sink: BinaryIO) -> None:
    """Take a request from `source` and write what came of it to `sink`."""
    # The appliance knows this module too, and never loads jinja2.
    from tinkbox.engine.templates import go_dialect, jinja_dialect
    from tinkbox.engine.templates.dialects import Dialect
    from tinkbox.engine.templates.go_dialect import Yaml, own_functions
    from tinkbox.model.template import MAX_TEXT

    os.nice(19)  # before anything is loaded: that takes longer than rendering
    request = json.loads(source.read())
    functions = own_functions(Yaml(MEMORY_BYTES))  # bounded as everything here is, by time
    for loads_what_is_loaded_late in ("{{ 'a' | sort }}", "{{ 1 / 0 }}", "{{ nothing }}", "{% if"):
        jinja_dialect.render_each(loads_what_is_loaded_late, [{}], functions, MAX_TEXT)
    try:
        confine(cpu_seconds=CPU_SECONDS, memory=MEMORY_BYTES)
    except OSError as error:
        sink.write(REFUSED + str(error.strerror).encode())
        return
    sink.write(CONFINED)
    sink.flush()
    ballast = bytearray(_BALLAST)
    text, data = request["text"], request["data"]
    if Dialect[request["dialect"]] is Dialect.GO:
        rendered = go_dialect.render_each(text, data)
    else:
        rendered = jinja_dialect.render_each(text, data, functions, MAX_TEXT)
    del ballast  # so that there is room to say that there was none
    told = [
        each if isinstance(each, str) else {"line": each.line, "key": each.key, "text": each.text} for each in rendered
    ]
    sink.write(json.dumps(told).encode())
