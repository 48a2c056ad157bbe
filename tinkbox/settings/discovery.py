"""The section `discovery`: how many unknown machines are let in, and the rules that accept them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from tinkbox.model.discovery import Quotas, Rule, check_condition, check_placeholders
from tinkbox.model.errors import Problem
from tinkbox.settings import readers
from tinkbox.settings.declaring import entries, inline, keys_of, reader, setting

LEAST_FORGET = timedelta(minutes=1)
_PLAIN = Quotas()


@reader("qualities, each with a pattern, or with `>=` and a number")
def conditions(value: Any, _: Mapping[str, str]) -> Mapping[str, str]:
    return readers.written_by_name(value, check_condition)


@reader("text with `{{placeholders}}`")
def filled_text(value: Any, default: str) -> str:
    found = readers.written(value) or default
    check_placeholders(found)
    return found


@reader("names with texts, which may have `{{placeholders}}`")
def filled_texts(value: Any, _: Mapping[str, str]) -> Mapping[str, str]:
    return readers.written_by_name(value, lambda _, each: check_placeholders(each))


def check_rule(rule: Rule, unread: Sequence[str]) -> Iterator[Problem]:
    """What cannot be right in a rule as a whole."""
    if not rule.match and not any(each.startswith("match.") for each in unread):
        yield Problem(key="match", text="a rule needs a condition; to accept every machine write {mac: '*'}")
    if (rule.devices or any(each.startswith("devices.") for each in unread)) and not rule.template:
        yield Problem(key="devices", text="they are a template's: name it, or leave them out")


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """How many unknown machines are let in, and the rules that accept them without a person."""

    quotas: Quotas = inline(
        keys_of(
            Quotas,
            all=setting(
                _PLAIN.all,
                readers.count,
                "unknown machines that may ask, boot or wait at the same time, in all",
                key="quota",
            ),
            port=setting(
                _PLAIN.port,
                readers.count,
                "the same for one provisioning interface, or for one port of a relay (its address and circuit, option 82)",
                key="port_quota",
            ),
            forget=setting(
                _PLAIN.forget,
                readers.age(LEAST_FORGET),
                "time without a sign of a waiting machine after which it is forgotten",
            ),
        )
    )
    rules: tuple[Rule, ...] = entries(
        keys_of(
            Rule,
            match=setting({}, conditions, "conditions, of which each must hold ([discovery.md](discovery.md#rules))"),
            name=setting("", filled_text, "name for the machine; without it, its MAC address"),
            template=setting(
                "", readers.text, "template of its first workflow; without it, the machine is accepted and gets none"
            ),
            devices=setting({}, filled_texts, "devices of that workflow, by name"),
        ),
        "rules that accept unknown machines without a person",
        each=check_rule,
    )
