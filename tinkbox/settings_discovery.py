"""The keys `unknown_machines` and `discovery` of the configuration file: what becomes of machines that nobody knows."""

from dataclasses import dataclass, field
from datetime import timedelta

from tinkbox.model.discovery import Quotas, Rule, check_condition, check_placeholders
from tinkbox.model.errors import Invalid
from tinkbox.settings_section import Section

LEAST_FORGET_SECONDS = 60
_HEARING = ("pool", "proxy")  # modes in which machines that nobody knows can have an address and be answered


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovering:
    """Whether machines that nobody knows are let in, how many, and the rules that accept them."""

    on: bool = False
    quotas: Quotas = field(default_factory=Quotas)
    rules: tuple[Rule, ...] = ()


def read_discovering(top: Section, mode: str) -> Discovering:
    """Take both keys; `mode` is that of DHCP."""
    on = top.choice("unknown_machines", ("ignore", "discover")) == "discover"
    if on and mode not in _HEARING:
        text = "discover needs their DHCP: set dhcp.mode to pool, or to proxy beside another DHCP server"
        top.refuse("unknown_machines", text)
    section = top.section("discovery")
    plain = Quotas()
    quotas = Quotas(
        all=section.count("quota", plain.all),
        port=section.count("port_quota", plain.port),
        forget=timedelta(seconds=section.seconds("forget", round(plain.forget.total_seconds()), LEAST_FORGET_SECONDS)),
    )
    rules = tuple(_rule(entry) for entry in section.sections("rules"))
    section.refuse_the_rest()
    return Discovering(on=on, quotas=quotas, rules=rules)


def _rule(entry: Section) -> Rule:
    rule = Rule(
        match=entry.mapping("match"),
        name=entry.text("name"),
        template=entry.text("template"),
        devices=entry.mapping("devices"),
    )
    if not rule.match:
        entry.refuse("match", "a rule needs a condition; to accept every machine write {mac: '*'}")
    for name, pattern in rule.match.items():
        try:
            check_condition(name, pattern)
        except Invalid as error:
            entry.refuse(f"match.{name}", str(error))
    for name, text in {"name": rule.name, **{f"devices.{name}": text for name, text in rule.devices.items()}}.items():
        try:
            check_placeholders(text)
        except Invalid as error:
            entry.refuse(name, str(error))
    if rule.devices and not rule.template:
        entry.refuse("devices", "they are a template's: name it, or leave them out")
    entry.refuse_the_rest()
    return rule
