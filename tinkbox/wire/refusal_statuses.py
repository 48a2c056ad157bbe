"""The HTTP status of each refusal, for the doors, which answer it, and for the clients, which raise the refusal again."""

from collections.abc import Mapping
from typing import Final

from tinkbox.model.errors import (
    Conflict,
    Denied,
    Forbidden,
    Full,
    Invalid,
    NotFound,
    Refusal,
    TooLarge,
    TooMany,
    Unavailable,
)

STATUS: Final[Mapping[type[Refusal], int]] = {
    Invalid: 422,
    NotFound: 404,
    Conflict: 409,
    TooLarge: 413,
    Denied: 401,
    Forbidden: 403,
    Unavailable: 503,
    Full: 507,
    TooMany: 429,
}
BY_STATUS: Final[Mapping[int, type[Refusal]]] = {status: refusal for refusal, status in STATUS.items()}
