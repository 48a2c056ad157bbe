"""How much the plan of a workflow takes, counted before it is made: each action has a copy of its task's environment and volumes."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from tinkbox.model.actions.action import Action
from tinkbox.model.errors import Problem
from tinkbox.model.services import Service
from tinkbox.model.sizes import show_size
from tinkbox.model.template import MAX_PLAN, Task, merged_environment, merged_volumes
from tinkbox.model.text import counted

# What an action or a service counts beside its texts, and each of its texts beside its bytes in JSON: so little that many small
# actions are no problem as long as the text has room for them.
ENTRY_BYTES = 32
TEXT_BYTES = 4


@dataclass(slots=True, kw_only=True)
class _Part:
    """A task's actions, or all services: so many are `listed`.

    `shared` are the bytes of which each of them has a copy, `taken` those of all that were counted so far.
    """

    key: str
    line: int
    called: str
    listed: int
    shared: int = 0
    taken: int = 0

    @property
    def copies(self) -> int:
        return self.shared * self.listed

    @property
    def expected(self) -> int:
        return max(self.copies, self.taken)

    def problem(self) -> Problem:
        if self.listed > 1 and 2 * self.copies > self.expected:
            text = (
                f"the environment and volumes of {self.called} take {show_size(self.shared)}, and each of its "
                f"{counted(self.listed, 'action')} gets a copy ({show_size(self.copies)}). Give what is large only to the "
                "actions that need it"
            )
        else:
            text = (
                f"{self.called} takes {show_size(self.taken)} or more with all aliases written out. Shorten it, or make "
                "several workflows of it"
            )
        return Problem(line=self.line, key=self.key, text=f"a plan takes at most {show_size(MAX_PLAN)}: {text}")


class PlanSize:
    """Counts the plan of a template while the template is read: part by part, and in each what is listed there."""

    def __init__(self) -> None:
        self._parts: list[_Part] = []
        self._taken = 0

    def begin_task(self, task: Task, listed: int, key: str, line: int) -> None:
        """What follows are the actions of a task, of which it lists so many."""
        shared = _bytes(chain(task.volumes, *task.environment.items()))
        self._parts.append(_Part(key=key, line=line, called=f"task {task.name}", listed=listed, shared=shared))

    def begin_services(self, listed: int, line: int) -> None:
        """What follows are the services."""
        self._parts.append(_Part(key="services", line=line, called="what is under services", listed=listed))

    def action(self, task: Task, action: Action) -> Problem | None:
        """Count an action; the problem, where the plan is too large with it."""
        return self._count(
            chain(
                (task.name, task.worker, action.name, action.image, action.pid),
                filter(None, (action.disk,)),
                chain.from_iterable((each.name, each.env, each.file) for each in action.secrets),
                chain(action.command, action.on_timeout, action.on_failure, action.wipes),
                merged_volumes(task, action),
                *merged_environment(task, action).items(),
            )
        )

    def service(self, service: Service) -> Problem | None:
        """Count a service; the problem, where the plan is too large with it."""
        return self._count(
            chain(
                (service.name, service.worker, service.image),
                chain(service.command, service.volumes, service.urls, service.health.test if service.health else ()),
                *service.labels,
                *service.environment.items(),
                *((each.name, each.env, each.file) for each in service.secrets),
            )
        )

    def _count(self, texts: Iterable[str]) -> Problem | None:
        taken = ENTRY_BYTES + _bytes(texts)
        self._parts[-1].taken += taken
        self._taken += taken
        if self._taken <= MAX_PLAN:
            return None
        return max(self._parts, key=lambda each: each.expected).problem()


def _bytes(texts: Iterable[str]) -> int:
    """As they are stored: a control character takes six bytes in JSON."""
    return sum(
        TEXT_BYTES + len(json.dumps(each, ensure_ascii=False).encode(errors="surrogatepass")) - 2 for each in texts
    )
