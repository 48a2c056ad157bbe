"""Which routes the operator door has."""

from dataclasses import fields
from typing import Any

from tests import golden
from tinkbox.api.routes import OperatorDoor


class Anything:
    """Stands for what the routes ask, which none of them does before a request comes."""

    def __getattr__(self, _: str) -> Any:
        return self


def routes() -> list[str]:
    door = OperatorDoor(**{field.name: Anything() for field in fields(OperatorDoor)})
    return [f"{route.method} {route.path}" for route in door.routes()]


def test_old_clients_find_every_route() -> None:
    before = golden.text("api/routes.txt").splitlines()
    assert len(before) > 40
    assert set(before) <= set(routes())


def test_a_route_is_declared_once() -> None:
    assert len(routes()) == len(set(routes()))
