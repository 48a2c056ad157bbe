import pytest

from tinkbox.model.spelling import is_misspelt, meant


@pytest.mark.parametrize(
    ("name", "known", "said"),
    [
        ("imag", ["name", "image"], "did you mean image?"),
        ("BMCREF", ["bmcRef", "disks"], "did you mean bmcRef?"),
        ("Hardwar", ["Hardware", "hardware"], "did you mean Hardware?"),
        ("hardwar", ["Hardware", "hardware"], "did you mean hardware?"),
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


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("delet", True), ("Delte", True), ("dlete", True), ("dele", True), ("del", False), ("elete", False), ("", False)],
)
def test_a_misspelling_has_the_first_letter_and_few_others_that_are_wrong(name: str, is_one: bool) -> None:
    assert is_misspelt(name, "delete") == is_one


def test_a_name_to_be_careful_with_is_meant_by_a_misspelling_of_it_alone() -> None:
    known = ["return", "retire"]
    assert meant("reitre", known, {"retire"}) == "did you mean retire?"
    assert meant("unretire", known, {"retire"}) == "known here: return, retire"
