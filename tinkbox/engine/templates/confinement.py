"""The process that renders one template: little memory, little time, no files, no rights.

It reads `{"dialect": …, "text": …, "moment": …, "data": […]}` with the name of a Dialect and the time in ISO 8601, gives up everything that it does not
need, and writes CONFINED and a list of texts and of `{"line": …, "key": …, "text": …}` for problems; or REFUSED and the reason,
where the system does not let it give up what it has.  `rendering_process` starts it, and kills it in the end.
"""

import json
import os
import re
from datetime import datetime
from typing import BinaryIO, Final

from tinkbox.confinement.giving_up import CONFINED, REFUSED, confine

CPU_SECONDS = 5
MEMORY_BYTES = 192 * 1024 * 1024
ZONE: Final = re.compile("in_?zone", re.IGNORECASE)  # in the names of all functions that ask for one
_BALLAST = 4 * 1024 * 1024


def answer(source: BinaryIO, sink: BinaryIO) -> None:
    """Take a request from `source` and write what came of it to `sink`."""
    # The appliance knows this module too, and never loads jinja2.
    from tinkbox.engine.templates import go_dialect, jinja_dialect
    from tinkbox.engine.templates.dialects import Dialect
    from tinkbox.engine.templates.go_dialect import Yaml, own_functions
    from tinkbox.engine.templates.surroundings import all_zones, shut_in
    from tinkbox.model.template import MAX_TEXT
    from tinkbox.sprig.all_functions import of_surroundings

    os.nice(19)  # before anything is loaded: that takes longer than rendering
    request = json.loads(source.read())
    text, data = request["text"], request["data"]
    around = shut_in(datetime.fromisoformat(request["moment"]), all_zones() if ZONE.search(text) else {})
    # Bounded as everything here is, by time.
    functions = {**of_surroundings(around), **own_functions(Yaml(MEMORY_BYTES, floats=False))}
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
    if Dialect[request["dialect"]] is Dialect.GO:
        rendered = go_dialect.render_each(text, data, around)
    else:
        rendered = jinja_dialect.render_each(text, data, functions, MAX_TEXT)
    del ballast  # so that there is room to say that there was none
    told = [
        each if isinstance(each, str) else {"line": each.line, "key": each.key, "text": each.text} for each in rendered
    ]
    sink.write(json.dumps(told).encode())
