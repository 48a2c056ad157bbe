"""What the appliance starts to render a template apart from itself."""

from collections.abc import Callable

import pytest

from tests.unit.cli.conftest import Printed

Tinkbox = Callable[..., Printed]


def test_it_passes_standard_input_and_output_on(tinkbox: Tinkbox, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(
        "tinkbox.engine.templates.confinement.answer",
        lambda source, sink: asked.append((source.read(), sink is not None)),
    )
    assert tinkbox("--render", stdin=b"request").status == 0
    assert asked == [(b"request", True)]


def test_nobody_is_told_of_it(tinkbox: Tinkbox) -> None:
    assert "--render" not in tinkbox("--help").out
