"""Run the benchmarks and print their ratios.

    python -m tests.bench [actions] [breakpoints] [queues] [http] [proxy] [dhcp] [storm] [start] [installing] [lists] [images] [tls]

Without names all of them run, in about twenty minutes.  Each figure is printed as soon as it is known.  A benchmark
that fails takes none of the others with it; it is told, and the exit status is 1.  Nothing is judged here: a figure belongs
to the machine and the moment, a ratio to the program.
"""

import argparse
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence

from examples.lab.processes import signals_unwind
from tests.bench import actions, breakpoints, dhcp, http, images, installing, lists, proxy, queues, start, storm, tls
from tests.bench.figures import Comparison, heading, line
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
    "installing": installing.compare,
    "lists": lists.compare,
    "images": images.compare,
    "tls": tls.compare,
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
    "installing": installing.TOOLS,
    "lists": lists.TOOLS,
    "images": images.TOOLS,
    "tls": tls.TOOLS,
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
            failed = run(chosen)
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130
    for name, why in failed.items():
        print(f"{name} failed: {why}", file=sys.stderr)
    return 1 if failed else 0


def run(names: Sequence[str]) -> dict[str, str]:
    """Run them and print what they find; returns why some failed, by their names."""
    failed = {name: why for name in names if (why := _missing(name))}
    for name, why in failed.items():
        print(f"{name} cannot run: {why}", file=sys.stderr)
    if able := [name for name in names if name not in failed]:
        print(heading(), flush=True)
    for name in able:
        print(f"{name} …", file=sys.stderr, flush=True)
        try:
            for comparison in BENCHMARKS[name]():
                print(line(comparison), flush=True)
        except Exception as error:
            traceback.print_exc()
            failed[name] = str(error) or type(error).__name__
    if able:
        print(f"\n{NOTE}", flush=True)
    return failed


def _missing(name: str) -> str:
    """What a benchmark needs and is not there, in one line."""
    try:
        need(TOOLS[name])
    except ToolMissing as missing:
        return "; ".join(str(missing).splitlines())
    return ""


if __name__ == "__main__":
    sys.exit(main())
