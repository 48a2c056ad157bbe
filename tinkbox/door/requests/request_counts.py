"""Requests of a door, counted."""

from collections import Counter

from aiohttp import web
from aiohttp.typedefs import Middleware

from tinkbox.door.problems import Handler
from tinkbox.model.errors import Refusal
from tinkbox.wire.refusal_statuses import STATUS


class Traffic:
    """How often which route gave which answer since the process began.

    `answers` maps method, path as the route is written, and HTTP status to a number.  What no route
    takes is not counted: whoever is on the network could make up paths without end.
    """

    def __init__(self) -> None:
        self.answers: Counter[tuple[str, str, int]] = Counter()

    def counted(self) -> Middleware:
        """Middleware that counts; it belongs inside of `refusals_become_problems`."""

        @web.middleware
        async def count(request: web.Request, handler: Handler) -> web.StreamResponse:
            status = 0
            try:
                response = await handler(request)
                status = response.status
                return response
            except Refusal as refusal:
                status = STATUS[type(refusal)]
                raise
            except web.HTTPException as answer:
                status = answer.status
                raise
            except Exception:
                status = 500
                raise
            finally:
                resource = request.match_info.route.resource
                if status and resource is not None:
                    self.answers[request.method, resource.canonical, status] += 1

        return count
