"""Which wishes are for just a shell; what is refused, and where nothing is held, stands with `engine.shells.shells`."""

from dataclasses import replace

import pytest

from tinkbox.engine.shells.shell_requests import check, is_plain
from tinkbox.model.errors import Invalid
from tinkbox.model.shells import ShellWish

SHELL = ShellWish(id="", tty=True)


@pytest.mark.parametrize("wish", [SHELL, replace(SHELL, rows=1, columns=1, term="dumb", id="x")])
def test_a_terminals_size_and_kind_make_no_other_shell(wish: ShellWish) -> None:
    assert is_plain(wish)


@pytest.mark.parametrize(
    "wish",
    [
        replace(SHELL, tty=False, command=("ls",)),
        replace(SHELL, command=("top",)),
        replace(SHELL, user="root"),
        replace(SHELL, folder="/"),
        replace(SHELL, environment={"A": "b"}),
    ],
)
def test_whoever_wants_it_otherwise_wants_another(wish: ShellWish) -> None:
    assert not is_plain(wish)
    check(wish)


def test_what_no_process_can_be_given_is_refused_by_name() -> None:
    with pytest.raises(Invalid, match="'A=B' is no name"):
        check(replace(SHELL, environment={"A=B": "c"}))
    with pytest.raises(Invalid, match="begins with a slash"):
        check(replace(SHELL, folder="tmp"))


@pytest.mark.parametrize(
    "text", ['{{ secret "db-password" }}', "x={{secret('db-password')}}", '{{- secret "a" | b64enc }}']
)
def test_a_shell_that_asks_for_a_secret_is_refused_and_not_given_the_words(text: str) -> None:
    for wish in (replace(SHELL, environment={"A": text}), replace(SHELL, command=("echo", text))):
        with pytest.raises(Invalid, match="a shell is given no secrets"):
            check(wish)
    check(replace(SHELL, command=("echo", "{{ secrets }}")))
