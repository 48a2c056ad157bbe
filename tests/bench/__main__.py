"""Run the benchmarks and print their ratios.

    python -m tests.bench [actions] [breakpoints] [queues] [http] [proxy] [dhcp] [storm] [start]

Without names all of them run, in about a quarter of an hour.  Nothing is judged here: a figure belongs to the machine
and the moment, a ratio to the program.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping

from examples.lab.processes import signals_unwind
from tests.bench import actions, breakpoints, dhcp, http, proxy, queues, start, storm
from tests.bench.figures import Comparison, table
from tests.bench.lab import ToolMissing, need

BENCHMARKS: Mapping[str, Callable[[], Iterable[Comparison]]] = {
    "actions": actions.compare,
    "breakpoints": breakpoints.compare,
    "queues": queues.compare,
    "http": http.compare,
    "proxy": proxy.compare,
    "dhcp": dhcp.compare,
    "storm": storm.compare,
    "start": start.compare,
}
TOOLS = {
    "actions": actions.TOOLS,
    "breakpoints": actions.TOOLS,
    "queues": queues.TOOLS,
    "http": http.TOOLS,
    "proxy": proxy.TOOLS,
    "dhcp": dhcp.TOOLS,
    "storm": storm.TOOLS,
    "start": start.TOOLS,
}
NOTE = """\
tinkbox and peer: medians of the rounds, the two sides alternating; ratio: tinkbox through peer, the median of the
rounds' own ratios; rounds: the least and the greatest of these, and how many; better: which way the figures are good."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"only these of {', '.join(BENCHMARKS)}")
    chosen = parser.parse_args().names or list(BENCHMARKS)
    unknown = sorted(set(chosen) - set(BENCHMARKS))
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}: there are {', '.join(BENCHMARKS)}")
    try:
        with signals_unwind():
            need({tool: package for name in chosen for tool, package in TOOLS[name].items()})
            found = [comparison for name in chosen for comparison in _run(name)]
    except ToolMissing as missing:
        print(missing, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130
    print(f"{table(found)}\n\n{NOTE}")
    return 0


def _run(name: str) -> Iterable[Comparison]:
    print(f"{name} …", file=sys.stderr, flush=True)
    return BENCHMARKS[name]()


if __name__ == "__main__":
    sys.exit(main())
