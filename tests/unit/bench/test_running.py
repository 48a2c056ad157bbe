"""What `make bench` prints, and when."""

from collections.abc import Iterator

import pytest

from tests.bench import __main__ as bench
from tests.bench.figures import Comparison
from tests.bench.lab import ToolMissing


def measured(what: str) -> Comparison:
    return Comparison(what=what, unit="s", peer="another", better="less", ours=[1.0], theirs=[2.0])


def breaks() -> Iterator[Comparison]:
    yield measured("before it broke")
    raise RuntimeError("the host does not let it")


@pytest.fixture
def benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    def need(tools: dict[str, str]) -> None:
        if tools:
            raise ToolMissing("wrk is missing: apt-get install wrk\nroot is missing")

    parts = {"breaks": breaks, "works": lambda: iter([measured("works")]), "lacks": lambda: iter([])}
    monkeypatch.setattr(bench, "BENCHMARKS", parts)
    monkeypatch.setattr(bench, "TOOLS", {"breaks": {}, "works": {}, "lacks": {"wrk": "wrk"}})
    monkeypatch.setattr(bench, "need", need)


@pytest.mark.usefixtures("benchmarks")
def test_benchmark_that_fails_takes_no_other_figure_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    failed = bench.run(["breaks", "works"])
    printed = capsys.readouterr()
    assert [line.split("  ")[0] for line in printed.out.splitlines()[:3]] == ["what", "before it broke", "works"]
    assert failed == {"breaks": "the host does not let it"}
    assert "RuntimeError: the host does not let it" in printed.err


@pytest.mark.usefixtures("benchmarks")
def test_missing_tool_stops_only_the_benchmark_that_needs_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.run(["lacks", "works"]) == {"lacks": "wrk is missing: apt-get install wrk; root is missing"}
    printed = capsys.readouterr()
    assert "\nworks " in printed.out
    assert printed.err.startswith("lacks cannot run: wrk is missing")


@pytest.mark.usefixtures("benchmarks")
@pytest.mark.parametrize(("names", "status"), [(["works"], 0), (["works", "breaks"], 1)])
def test_failed_benchmark_is_the_exit_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], names: list[str], status: int
) -> None:
    monkeypatch.setattr(bench.sys, "argv", ["bench", *names])
    assert bench.main() == status
    assert ("breaks failed: the host does not let it" in capsys.readouterr().err) is (status == 1)


@pytest.mark.usefixtures("benchmarks")
def test_figure_is_printed_before_the_next_one_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[str] = []

    def slow() -> Iterator[Comparison]:
        yield measured("first")
        seen.append(capsys.readouterr().out)
        yield measured("second")

    monkeypatch.setitem(bench.BENCHMARKS, "works", slow)
    bench.run(["works"])
    assert "\nfirst " in seen[0]
