"""Tinkerbell's rules for unknown machines: `WorkflowRuleSet` (v1alpha1), and `workflowAutoCreation` of a `Policy` (v1alpha2).

Of a rule set any rule may hold (OR).  The set of which the most rules hold wins, the first listed of those with as many; a set
with a rule that is no pattern never holds.  So it is in Tinkerbell's auto enrolment.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tinkbox.model.documents.agent_attributes import why_never_told
from tinkbox.model.documents.json_patterns import Pattern, parse_pattern, pattern_of
from tinkbox.model.documents.kept_documents import KeptDocument, KeptKind
from tinkbox.model.documents.kubernetes import DEFAULT_NAMESPACE
from tinkbox.model.documents.loose_values import mapping_of
from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.text import quoted

MAX_RULES: Final = 1_000  # of one set
RULE_SETS: Final = (KeptKind.RULE_SET, KeptKind.POLICY)  # the kinds of documents that have them
# What Tinkerbell gives the workflows that it makes so.
LABEL: Final = "tinkerbell.org/auto-enrollment"
PREFIX: Final = "enrollment-"
_OF_POLICY: Final = "spec.rules.workflowAutoCreation"  # where the rule sets of a Policy stand


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSet:
    """Accepts machines, and makes a workflow of a template for each.

    `title` is what people call it.  `agent_value` is the name of the template's device that is the machine, and `values` are the
    others.  One of a Policy has in place of these `workflow`, the spec of a Workflow of v1alpha2 without its machine; empty:
    machines are registered alone.  A disabled one leaves machines to a person.  `place` is the field of the document where it
    says what is done with machines; the document has the id `document`, and `who` gave it, empty: not known.
    """

    title: str
    patterns: Sequence[Pattern]
    template: str = ""
    agent_value: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    namespace: str = DEFAULT_NAMESPACE
    is_disabled: bool = False
    workflow: Mapping[str, Any] = field(default_factory=dict)
    place: str = ""
    document: str = ""
    who: str = ""

    @property
    def tasks(self) -> list[Mapping[str, Any]]:
        """The entries of its workflow, each of which refers to a Task; empty ones in place of what is none."""
        listed = self.workflow.get("tasks")
        return list(map(mapping_of, listed)) if isinstance(listed, list) else []

    def devices(self, mac: str) -> dict[str, str]:
        """What the template's devices are for the machine of this MAC; empty: nothing is said of any."""
        own = {self.agent_value: mac} if self.agent_value else {}
        return own | dict(self.values)


@dataclass(frozen=True, slots=True)
class Read:
    """The rule sets of a document, and what there is to say of it, by the keys of its fields.

    `rules` are all that are patterns, each with its key, also those of a set that never holds.
    """

    rule_sets: Sequence[RuleSet]
    notes: Sequence[Problem]
    rules: Sequence[tuple[str, Pattern]]


def best_rule_set(rule_sets: Sequence[RuleSet], attributes: Mapping[str, Any]) -> RuleSet | None:
    """The one that accepts a machine with these attributes (`agent_attributes`); None: none does."""
    counted = [(sum(each.matches(attributes) for each in one.patterns), one) for one in rule_sets]
    most, best = max(counted, key=lambda each: each[0], default=(0, None))
    return best if most else None


def never_told(read: Read) -> Iterator[Problem]:
    """Of each rule a field that no machine is known to have, with the key of the rule."""
    for key, pattern in read.rules:
        for path, is_value in sorted(pattern.leaves(), key=lambda leaf: not leaf[1]):
            if why := why_never_told(path):
                then = "it holds of no machine" if is_value else "what it wants to be absent always is"
                yield Problem(key=key, text=f"{then}: {why}")
                break


def read_rule_sets(document: KeptDocument) -> Read:
    """What a document declares; of what is no rule set nothing."""
    notes: list[Problem] = []
    rules: list[tuple[str, Pattern]] = []
    match document.kind:
        case KeptKind.RULE_SET:
            found = [_of_workflow_rule_set(document, notes, rules)]
        case KeptKind.POLICY:
            found = list(_of_policy(document, notes, rules))
        case _:
            found = []
    return Read(found, notes, rules)


def template_wanted(document: KeptDocument) -> tuple[str, str]:
    """From which namespace a WorkflowRuleSet means a template, and by which reference; empty: it means none."""
    workflow = mapping_of(document.spec.get("workflow"))
    reference = mapping_of(workflow.get("template")).get("ref")
    return str(workflow.get("namespace") or DEFAULT_NAMESPACE), str(reference or "")


def _of_workflow_rule_set(document: KeptDocument, notes: list[Problem], rules: list[tuple[str, Pattern]]) -> RuleSet:
    workflow = mapping_of(document.spec.get("workflow"))
    template = mapping_of(workflow.get("template"))
    namespace, reference = template_wanted(document)
    if not reference:
        notes.append(
            Problem(
                key="spec.workflow.template.ref",
                text="no template: machines are registered, and nothing is done with them",
            )
        )
    own = template.get("agentValue")
    values = {str(name): str(value or "") for name, value in mapping_of(template.get("kvs")).items()}
    devices = [*([("agentValue", str(own))] if own else ()), *(("kvs", name) for name in values)]
    notes += [
        Problem(
            key=f"spec.workflow.template.{field}",
            text=f"no placeholder such as {{{{.device_1}}}} can name {quoted(name)}: use letters, digits and underscores, and no "
            "digit at its beginning",
        )
        for field, name in devices
        if not name.isidentifier()
    ]
    return RuleSet(
        title=f"rule set {document.name}",
        patterns=_patterns(document.spec.get("rules"), "spec.rules", notes, rules),
        template=reference,
        agent_value=str(own or ""),
        values=values,
        namespace=namespace,
        is_disabled=bool(workflow.get("disabled")),
        place="spec.workflow.template",
        document=document.id,
        who=document.who,
    )


def _of_policy(document: KeptDocument, notes: list[Problem], rules: list[tuple[str, Pattern]]) -> Iterator[RuleSet]:
    listed = mapping_of(document.spec.get("rules")).get("workflowAutoCreation")
    sets = listed if isinstance(listed, list) else []
    if not sets:
        notes.append(Problem(key=_OF_POLICY, text="there is no rule: it accepts no machine"))
    for place, each in enumerate(sets):
        key = f"{_OF_POLICY}[{place}]"
        config = mapping_of(mapping_of(each).get("config"))
        told = {name: config[name] for name in ("globals", "references", "timeoutSeconds", "tasks") if config.get(name)}
        if not told.get("tasks"):
            notes.append(
                Problem(key=f"{key}.config", text="no tasks: machines are registered, and nothing is done with them")
            )
        notes += _without_task(told.get("tasks"), f"{key}.config.tasks")
        yield RuleSet(
            title=f"policy {document.name}, workflowAutoCreation[{place}]",
            patterns=_patterns(mapping_of(each).get("rules"), f"{key}.rules", notes, rules),
            namespace=str(config.get("namespace") or DEFAULT_NAMESPACE),
            is_disabled=bool(config.get("disabled")),
            workflow=told if told.get("tasks") else {},
            place=f"{key}.config.tasks",
            document=document.id,
            who=document.who,
        )


def _without_task(listed: Any, key: str) -> Iterator[Problem]:
    """The entries of the tasks of a Policy that refer to no Task."""
    for place, each in enumerate(listed if isinstance(listed, list) else []):
        if not mapping_of(mapping_of(each).get("taskRef")).get("name"):
            text = "the name of a Task is required: machines for which a rule holds wait for it"
            yield Problem(key=f"{key}[{place}].taskRef", text=text)


def _patterns(listed: Any, key: str, notes: list[Problem], rules: list[tuple[str, Pattern]]) -> Sequence[Pattern]:
    """The patterns of a set; none where one is wrong.  All that are patterns come to the `rules` of the document."""
    entries = listed if isinstance(listed, list) else []
    if not entries:
        notes.append(Problem(key=key, text="there is no rule: it holds of no machine"))
    if len(entries) > MAX_RULES:
        notes.append(
            Problem(key=key, text=f"{len(entries)} rules, and {MAX_RULES} are looked at: it holds of no machine")
        )
        return ()
    found: list[Pattern] = []
    wrong = False
    for place, each in enumerate(entries):
        try:
            pattern = parse_pattern(each) if isinstance(each, str) else pattern_of(each)
            if not pattern.is_asking:
                notes.append(Problem(key=f"{key}[{place}]", text="it asks for nothing: it holds of no machine"))
            found.append(pattern)
            rules.append((f"{key}[{place}]", pattern))
        except Invalid as refusal:
            wrong = True
            notes.append(Problem(key=f"{key}[{place}]", text=f"{refusal}. With it no rule of this set holds"))
    return () if wrong else found
