import pytest

from tinkbox.model.spelling import meant


@pytest.mark.parametrize(
    ("name", "known", "said"),
    [
        ("imag", ["name", "image"], "did you mean image?"),
        ("BMCREF", ["bmcRef", "disks"], "did you mean bmcRef?"),
        ("x", ["name", "image"], "known here: name, image"),
        ("x", [], "known here: nothing"),
        (
            "x",
            [f"n{number:02}" for number in range(20, 0, -1)],
            f"known here: {', '.join(f'n{n:02}' for n in range(1, 13))}, …",
        ),
    ],
)
def test_the_nearest_name_is_told_or_else_what_there_is(name: str, known: list[str], said: str) -> None:
    assert meant(name, known) == said
