"""The process that renders one template: little memory, little time, no files, no rights.

It reads `{"dialect": …, "text": …, "data": […]}` with the name of a Dialect, gives up everything that it does not
need, and writes CONFINED and a list of texts and of `{"line": …, "text": …}` for problems; or REFUSED and the reason,
where the system does not let it give up what it has.  `rendering_process` starts it, and kills it in the end.
"""

import json
import os
import resource
from pathlib import Path
from typing import BinaryIO

from tinkbox.engine.templates.system_calls import give_up_capabilities, only_compute

CPU_SECONDS = 5
MEMORY_BYTES = 192 * 1024 * 1024
CONFINED = b"confined\n"
REFUSED = b"refused\n"
NOBODY = 65_534
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
        confine()
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
    told = [each if isinstance(each, str) else {"line": each.line, "text": each.text} for each in rendered]
    sink.write(json.dumps(told).encode())


def confine() -> None:
    """Give up time, memory, files, rights and system calls; what is not loaded by now can be loaded no more.

    Raises OSError where any of it cannot be given up.
    """
    os.environ.clear()
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limits = {
        resource.RLIMIT_CPU: CPU_SECONDS,
        resource.RLIMIT_AS: used + MEMORY_BYTES,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: 0,
    }
    for limit, value in limits.items():
        resource.setrlimit(limit, (value, value))
    if os.geteuid() == 0:
        _become_nobody()
    give_up_capabilities()
    only_compute()


def _become_nobody() -> None:
    try:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    except PermissionError as error:
        text = "it is root without the right to become another user: serve as a user of its own (User= in the unit)"
        raise PermissionError(error.errno, text) from None
