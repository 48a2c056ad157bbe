from enum import StrEnum

from tinkbox.model.diagram import state_diagram


class Light(StrEnum):
    RED = "RED"
    GREEN = "GREEN"
    BROKEN = "BROKEN"


class Signal(StrEnum):
    SWITCHED = "switched"
    HIT = "hit"


def test_diagram_has_a_line_for_each_row_and_each_end() -> None:
    table = {
        (Light.RED, Signal.SWITCHED): Light.GREEN,
        (Light.GREEN, Signal.SWITCHED): Light.RED,
        (Light.GREEN, Signal.HIT): Light.BROKEN,
    }
    assert state_diagram(table, Light.RED).splitlines() == [
        "```mermaid",
        "stateDiagram-v2",
        "    [*] --> RED",
        "    RED --> GREEN: switched",
        "    GREEN --> RED: switched",
        "    GREEN --> BROKEN: hit",
        "    BROKEN --> [*]",
        "```",
    ]
