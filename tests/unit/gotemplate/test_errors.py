from tinkbox.gotemplate.errors import TemplateError, error_at


def test_an_error_tells_its_place_and_its_problem() -> None:
    error = TemplateError("bad", line=2, column=5, name="boot.yaml")
    assert str(error) == "template: boot.yaml:2:5: bad"
    assert (error.problem, error.line, error.column, error.name) == ("bad", 2, 5, "boot.yaml")


def test_lines_and_columns_count_characters_from_one() -> None:
    source = "é{{\nab{{"
    places = [(error.line, error.column) for error in (error_at("p", source, at, "t") for at in (0, 1, 3, 4, 6))]
    assert places == [(1, 1), (1, 2), (1, 4), (2, 1), (2, 3)]


def test_a_very_long_problem_is_cut() -> None:
    assert len(error_at("x" * 500, "", 0, "t").problem) == 500
    assert error_at("x" * 500, "", 0, "t").problem.endswith("x")
    assert error_at("x" * 501, "", 0, "t").problem == "x" * 499 + "…"
