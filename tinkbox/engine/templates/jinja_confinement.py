"""The process that renders one Jinja2 template: little memory, little time, no files, no rights.

It reads `{"text": …, "data": […]}`, gives up everything that it does not need, and writes CONFINED and a list of texts
and of `{"line": …, "text": …}` for problems.  `jinja_process` starts it, and kills it in the end.
"""

import json
import os
import resource
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

CPU_SECONDS = 5
MEMORY_BYTES = 192 * 1024 * 1024
CONFINED = b"confined\n"
NOBODY = 65_534
_BALLAST = 4 * 1024 * 1024


def answer(source: BinaryIO, sink: BinaryIO) -> None:
    """Take a request from `source` and write what came of it to `sink`."""
    # The appliance knows this module too, and never loads jinja2.
    from tinkbox.engine.templates.go_dialect import MAX_OUTPUT, Yaml, own_functions
    from tinkbox.engine.templates.jinja_dialect import render_each

    request = json.loads(source.read())
    functions = own_functions(Yaml(MEMORY_BYTES))  # bounded as everything here is, by time
    for loads_what_is_loaded_late in ("{{ 'a' | sort }}", "{{ 1 / 0 }}", "{{ nothing }}", "{% if"):
        render_each(loads_what_is_loaded_late, [{}], functions, MAX_OUTPUT)
    confine()
    sink.write(CONFINED)
    sink.flush()
    ballast = bytearray(_BALLAST)
    rendered = render_each(request["text"], request["data"], functions, MAX_OUTPUT)
    del ballast  # so that there is room to say that there was none
    told = [each if isinstance(each, str) else {"line": each.line, "text": each.text} for each in rendered]
    sink.write(json.dumps(told).encode())


def confine() -> None:
    """Give up time, memory, files and rights; what is not loaded by now can be loaded no more."""
    os.nice(19)
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
        # systemd's unit leaves root without the right to become somebody else, and with few others.
        with suppress(PermissionError):
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
