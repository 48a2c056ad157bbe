"""`/metrics`: the appliance's figures as text for Prometheus (exposition format 0.0.4).

Rule 1: a label's values are bounded.  tinkbox's own reasons are always named; of those that are words of actions only the
most frequent are.
Rule 2: what can go down is a gauge; what is called `…_total` counts from the start of the process.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from types import MappingProxyType

from tinkbox import __version__
from tinkbox.engine.doctor.doctor import RULES
from tinkbox.engine.views.metrics import BOUNDS, Durations, Figures, Waiting
from tinkbox.model.audit_places import Delivery
from tinkbox.model.boot import Stage
from tinkbox.model.breakpoint import Kind, Verb
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.disk_usage import DiskUsage
from tinkbox.model.limits import Standing as Taken
from tinkbox.model.reasons import Reason, is_reason, known
from tinkbox.model.services import Phase
from tinkbox.model.workflow import State
from tinkbox.store.counts import Standing

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
MAX_REASONS = 100
OTHER = "Other"
WORKFLOW_STATES = (
    State.PENDING, State.RUNNING, State.STOPPING, State.SUCCESS, State.FAILED, State.TIMEOUT, State.CANCELED,
)  # fmt: skip
ACTION_STATES = (
    State.PENDING, State.RUNNING, State.HELD, State.LEAVING, State.SUCCESS, State.FAILED, State.TIMEOUT, State.CANCELED,
    State.SKIPPED,
)  # fmt: skip
NEVER_SEEN = "never seen"
SHOWN = (Gravity.FAULT, Gravity.SUSPECT)
REFUSED = {409: "stale", 404: "unknown", 401: "denied", 422: "invalid", 413: "too large", 503: "unavailable"}

Labels = Mapping[str, str]
Sample = tuple[Labels, float]
Answers = Mapping[tuple[str, str, int], int]


def page(
    figures: Figures,
    answers: Answers,
    limits: Sequence[Taken] = (),
    refused_tokens: int = 0,
    conditions: Mapping[tuple[str, Gravity], int] = MappingProxyType({}),
    deliveries: Sequence[Delivery] = (),
) -> str:
    """The whole page.

    `answers` are those of the node door (`door.requests.request_counts`), `limits` what is taken of each, `refused_tokens`
    how many were shown that are not valid, `conditions` how many the doctor's rounds
    found by rule and gravity, `deliveries` how far each place has the lines of the audit.
    """
    tally = figures.tally
    ended = [Standing(state=state, reason=reason, number=number) for (state, reason), number in tally.ended.items()]
    lines = [
        *_family("tinkbox_info", "gauge", "The program that answers.", [({"version": __version__}, 1)]),
        *_family(
            "tinkbox_workflows", "gauge", "Workflows by state, and by the reason of those that ended badly.",
            _standings(figures.workflows, WORKFLOW_STATES),
        ),
        *_family(
            "tinkbox_actions", "gauge", "Actions by state, and by the reason of those that ended badly.",
            _standings(figures.actions, ACTION_STATES),
        ),
        *_family("tinkbox_attempts_started_total", "counter", "Attempts at actions that began.", [({}, tally.begun)]),
        *_family(
            "tinkbox_attempts_ended_total", "counter", "Attempts at actions that ended, by state and reason.",
            _standings(ended, ()),
        ),
        *_histogram("tinkbox_action_seconds", "How long attempts at actions took, by how they ended.", tally.actions),
        *_histogram(
            "tinkbox_workflow_seconds", "How long workflows took from their first action on, by how they ended.",
            tally.workflows,
        ),
        *_holds(figures),
        *_family(
            "tinkbox_services", "gauge", "Services of unfinished workflows by phase.",
            [({"phase": phase.value}, figures.services.get(phase, 0)) for phase in Phase],
        ),
        *_queues(figures.queues),
        *_family("tinkbox_machines", "gauge", "Machines by the stage they were last seen at.", _stages(figures.stages)),
        *_family("tinkbox_machines_parked", "gauge", "Machines that are parked.", [({}, figures.parked)]),
        *_family(
            "tinkbox_offers_total", "counter", "Offers of an attempt that were sent, repeated ones included.",
            [({}, figures.offers)],
        ),
        *_family("tinkbox_reports_total", "counter", "Reports on attempts, by what became of them.", _reports(answers)),
        *_disk(figures.disk),
        *_conditions(conditions),
        *_limits(limits),
        *_audit(deliveries),
        *_family(
            "tinkbox_refused_tokens_total", "counter", "Tokens that were shown to the operator door or the registry and are not valid.",
            [({}, refused_tokens)],
        ),
        *_family(
            "tinkbox_node_requests_total", "counter", "Requests on the node door, by route and answer.",
            [
                ({"method": method, "route": route, "status": str(status)}, number)
                for (method, route, status), number in sorted(answers.items())
            ],
        ),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _family(name: str, kind: str, about: str, samples: Iterable[Sample]) -> Iterator[str]:
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} {kind}"
    for labels, value in samples:
        yield _line(name, labels, value)


def _histogram(name: str, about: str, durations: Mapping[State, Durations]) -> Iterator[str]:
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} histogram"
    bounds = [*(f"{bound:g}" for bound in BOUNDS), "+Inf"]
    for state, taken in sorted(durations.items()):
        labels = {"state": state.value}
        for bound, number in zip(bounds, accumulate(taken.counts), strict=True):
            yield _line(f"{name}_bucket", {**labels, "le": bound}, number)
        yield _line(f"{name}_sum", labels, taken.total)
        yield _line(f"{name}_count", labels, sum(taken.counts))


def _line(name: str, labels: Labels, value: float) -> str:
    listed = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
    return f"{name}{{{listed}}} {value}" if listed else f"{name} {value}"


def _escaped(text: str) -> str:
    """A label's value, which is any text but for three escapes."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _standings(standings: Sequence[Standing], states: Sequence[State]) -> list[Sample]:
    """By state and reason; each of `states` is there without a reason, be it as 0."""
    numbers = {(state, ""): 0 for state in states}
    named = _most_frequent(standings)
    for each in standings:
        key = each.state, each.reason if each.reason in named else OTHER
        numbers[key] = numbers.get(key, 0) + each.number
    return [({"state": state.value, "reason": reason}, number) for (state, reason), number in numbers.items()]


def _most_frequent(standings: Sequence[Standing]) -> set[str]:
    """The reasons that a label may name: ours, and the most frequent of the actions' own; none at all is one of them."""
    found: dict[str, int] = {}
    for each in standings:
        if is_reason(each.reason) and known(each.reason) is None:
            found[each.reason] = found.get(each.reason, 0) + each.number
    return {"", *Reason, *sorted(found, key=lambda reason: (-found[reason], reason))[:MAX_REASONS]}


def _stages(machines: Mapping[Stage | str, int]) -> list[Sample]:
    return [({"stage": stage or NEVER_SEEN}, machines.get(stage, 0)) for stage in ("", *Stage)]


def _holds(figures: Figures) -> Iterator[str]:
    tally = figures.tally
    yield from _family(
        "tinkbox_actions_held",
        "gauge",
        "Actions that are held at breakpoints.",
        [({"kind": kind.value}, figures.held.get(kind, 0)) for kind in Kind],
    )
    yield from _family(
        "tinkbox_holds_total",
        "counter",
        "Holds at breakpoints that began.",
        [({"kind": kind.value}, tally.holds[kind]) for kind in Kind],
    )
    yield from _family(
        "tinkbox_verdicts_total",
        "counter",
        "Verdicts on held actions, those of deadlines included.",
        [({"verb": verb.value}, tally.verdicts[verb]) for verb in Verb],
    )
    yield from _family(
        "tinkbox_held_seconds_total",
        "counter",
        "Seconds that actions were held, of holds that are over.",
        [({}, tally.held_seconds)],
    )


def _queues(queues: Sequence[Waiting]) -> Iterator[str]:
    lengths = [({"machine": each.hardware_id}, float(each.length)) for each in queues]
    ages = [({"machine": each.hardware_id}, each.seconds) for each in queues]
    yield from _family(
        "tinkbox_queue_workflows",
        "gauge",
        "Unfinished workflows in which a machine still has something to do.",
        lengths,
    )
    yield from _family(
        "tinkbox_queue_age_seconds", "gauge", "How long a workflow of a machine's queue waits already to begin.", ages
    )


def _disk(disk: DiskUsage) -> Iterator[str]:
    named = [({"kind": kind.title}, share) for kind, share in disk.shares.items()]
    number = "How many there are of each kind: workflows, machines, files, else rows of the database."
    early = disk.early
    yield from _family("tinkbox_disk_free_bytes", "gauge", "Free bytes where the data folder is.", [({}, disk.free)])
    yield from _family("tinkbox_database_bytes", "gauge", "Bytes of the database's file.", [({}, disk.database)])
    yield from _family(
        "tinkbox_stored_bytes", "gauge", "Bytes that each kind of what is stored takes, about.",
        [(kind, share.octets) for kind, share in named],
    )  # fmt: skip
    yield from _family("tinkbox_stored", "gauge", number, [(kind, share.number) for kind, share in named])
    yield from _family(
        "tinkbox_workflows_deleted_early", "gauge",
        "Finished workflows that were deleted before their time for lack of room, until it is a week ago.",
        [({}, early.workflows if early else 0)],
    )  # fmt: skip


def _conditions(conditions: Mapping[tuple[str, Gravity], int]) -> Iterator[str]:
    # Every rule is there, be it as 0: what watches it sees it go back.
    numbers = {**{(rule.name, gravity): 0 for rule in RULES for gravity in SHOWN}, **conditions}
    yield from _family(
        "tinkbox_condition", "gauge", "What is wrong now with the appliance, its machines and workflows, by the doctor's rule.",
        [({"rule": rule, "gravity": gravity.value}, number) for (rule, gravity), number in sorted(numbers.items())],
    )  # fmt: skip


def _limits(standings: Sequence[Taken]) -> Iterator[str]:
    named = [({"limit": each.limit.name}, each) for each in standings]
    used, most = "What is taken of each limit, by all together.", "What all together may take of each limit."
    refused = "How often a limit refused somebody."
    yield from _family("tinkbox_limit_used", "gauge", used, [(limit, each.used) for limit, each in named])
    yield from _family("tinkbox_limit", "gauge", most, [(limit, each.limit.all) for limit, each in named])
    yield from _family(
        "tinkbox_limit_refusals_total", "counter", refused, [(limit, each.refused) for limit, each in named]
    )


def _audit(deliveries: Sequence[Delivery]) -> Iterator[str]:
    yield from _family(
        "tinkbox_audit_waiting_lines", "gauge", "Lines of the audit that a place is not known to have taken.",
        [({"place": each.place}, each.waiting) for each in deliveries],
    )  # fmt: skip
    yield from _family(
        "tinkbox_audit_missed_lines_total", "counter", "Lines of the audit that were deleted for their age before a place took them.",
        [({"place": each.place}, each.missed) for each in deliveries],
    )  # fmt: skip


def _reports(answers: Answers) -> list[Sample]:
    route = "/worker/attempts/{token}/report"
    numbers = {"accepted": _answered(answers, "POST", route, 200)}
    numbers |= {answer: _answered(answers, "POST", route, status) for status, answer in REFUSED.items()}
    return [({"answer": answer}, number) for answer, number in numbers.items()]


def _answered(answers: Answers, method: str, route: str, status: int) -> int:
    return answers.get((method, route, status), 0)
