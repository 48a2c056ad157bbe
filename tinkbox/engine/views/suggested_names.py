"""Names that a person may mean who has typed a beginning: what completions in shells ask."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tinkbox.engine.machines.known_machines import KnownMachines
from tinkbox.engine.services.services import Services
from tinkbox.engine.templates.templates import Templates
from tinkbox.model.hardware import Hardware, name_of
from tinkbox.model.key_kinds import MOST_SUGGESTED, KeyKind, SuggestedName
from tinkbox.model.text import natural
from tinkbox.store.database import Store
from tinkbox.store.workflow_names import NamedWorkflow

SHORT: Final = 8  # letters of an id that lists show
PAGE: Final = 200  # machines that are looked at in one go: booting ones are answered in between


class SuggestedNames:
    """The names of what the engine keeps, at most `MOST_SUGGESTED` at once."""

    def __init__(self, store: Store, known: KnownMachines, templates: Templates, services: Services) -> None:
        self._store = store
        self._known = known
        self._templates = templates
        self._services = services

    async def beginning(self, kind: KeyKind, prefix: str) -> list[SuggestedName]:
        """Those that begin with `prefix`; none of a kind that the engine does not keep."""
        match kind:
            case KeyKind.MACHINE:
                found: Iterable[SuggestedName] = await self._machines(prefix)
            case KeyKind.RETIRED_MACHINE:
                found = await self._machines(prefix, retired=True)
            case KeyKind.TEMPLATE:
                found = await self._all_templates()
            case KeyKind.WORKFLOW:
                newest = await self._store.read(lambda tables: tables.workflow_names.newest(prefix, MOST_SUGGESTED))
                machines = await self._machines(prefix) if prefix else ()
                found = (*self._workflows(newest, prefix), *machines)
            case KeyKind.ROLLOUT:
                rollouts = await self._store.read(lambda tables: tables.rollouts.all())
                ids = [_by_id(each.id, f"{each.template_name} {each.state}", prefix) for each in rollouts]
                # A template's name means its newest.
                newest_of = (
                    SuggestedName(each.template_name, f"{each.id[:SHORT]} {each.state}") for each in reversed(rollouts)
                )
                found = (*ids, *newest_of)
            case KeyKind.SERVICE:
                services = await self._services.all()
                found = (SuggestedName(each.status.service.spec.name, each.workflow) for each in reversed(services))
            case _:
                found = ()
        return first_of(found, prefix)

    async def _machines(self, prefix: str, *, retired: bool = False) -> Sequence[SuggestedName]:
        """Each by the first of its names that begins so, beside the others; only those that are `retired`, or all.

        They are in the order of these names.
        """
        found: list[SuggestedName] = []
        for number, record in enumerate(tuple(self._known.all())):
            if number % PAGE == PAGE - 1:
                await asyncio.sleep(0)
            if retired and record.retired is None:
                continue
            names = names_of(record.hardware)
            fitting = next((each for each in names if each.startswith(prefix)), "")
            if fitting:
                found.append(SuggestedName(fitting, " ".join(each for each in names[:-1] if each != fitting)))
        return sorted(found, key=lambda each: natural(each.name))

    async def _all_templates(self) -> list[SuggestedName]:
        stored = [SuggestedName(each.name, each.id[:SHORT]) for each in await self._templates.all()]
        built_in = await self._templates.catalogue()
        found = [*stored, *(SuggestedName(each.name, each.about) for each, instead in built_in if not instead)]
        return sorted(found, key=lambda each: natural(each.name))

    def _workflows(self, newest: Iterable[NamedWorkflow], prefix: str) -> Iterator[SuggestedName]:
        """By the machine, which means its newest, and by the beginning of the id that lists show."""
        for each in newest:
            record = self._known.get(each.worker)
            machine = names_of(record.hardware)[0] if record else ""
            yield SuggestedName(machine, f"{each.name} {each.state}")
            yield _by_id(each.id, f"{each.name} {each.state} {machine}".rstrip(), prefix)


def names_of(hardware: Hardware) -> list[str]:
    """All that a machine may be called, the name that people know first and its id last."""
    hostnames = (name_of(hardware), *hardware.hostnames)
    macs = (str(each.mac) for each in hardware.interfaces)
    addresses = map(str, hardware.addresses)
    return [name for name in dict.fromkeys((*hostnames, *macs, *addresses, hardware.id)) if name]


def first_of(found: Iterable[SuggestedName], prefix: str) -> list[SuggestedName]:
    """The first that begin with `prefix`, each name once."""
    fitting: dict[str, SuggestedName] = {}
    for each in found:
        if each.name and each.name.startswith(prefix):
            fitting.setdefault(each.name, each)
        if len(fitting) == MOST_SUGGESTED:
            break
    return list(fitting.values())


def _by_id(identity: str, about: str, prefix: str) -> SuggestedName:
    return SuggestedName(identity[: max(SHORT, len(prefix))], about)
