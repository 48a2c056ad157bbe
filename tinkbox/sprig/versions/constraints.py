"""Constraints on versions as github.com/Masterminds/semver v3.3.0 checks them: `>=1.2, <2 || ^3.1`, `1.2 - 1.4`, `1.x`.

`||` separates alternatives, a comma or spaces what must hold together.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tinkbox.gotemplate.values import GoError
from tinkbox.sprig.arguments import Function, typed
from tinkbox.sprig.versions.semver import IDENTIFIERS, Version, compare, compare_prereleases, parse

MAX_LENGTH = 1000  # characters; the ranges are found in a time that grows with the square
SPACE = r"[\t\n\f\r ]"
PARTIAL = rf"v?[0-9xX*]+(?:\.[0-9xX*]+)?(?:\.[0-9xX*]+)?(?:-{IDENTIFIERS})?(?:\+{IDENTIFIERS})?"
RANGE = re.compile(rf"{SPACE}*({PARTIAL}){SPACE}+-{SPACE}+({PARTIAL}){SPACE}*")
CLAUSE = re.compile(
    rf"{SPACE}*(?P<operator>!=|>=|=>|<=|=<|~>|[=><~^]|){SPACE}*"
    r"v?(?P<major>[0-9xX*]+)(?:\.(?P<minor>[0-9xX*]+))?(?:\.(?P<patch>[0-9xX*]+))?"
    rf"(?P<prerelease>-{IDENTIFIERS})?(?P<metadata>\+{IDENTIFIERS})?"
)
SEPARATOR = re.compile(rf"{SPACE}*,{SPACE}*|{SPACE}+")
WILDCARDS = {"x", "X", "*", None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One comparison; `given` counts the numbers of the version that were written and are no wildcard, 0 to 3."""

    operator: str
    version: Version
    given: int

    def allows(self, version: Version) -> bool:
        if self.operator == "!=":
            return _differs(version, self)
        # Who does not ask for a prerelease does not get one.
        if version.prerelease and not self.version.prerelease:
            return False
        return CHECKS[self.operator](version, self)


def parse_constraint(text: str) -> list[list[Clause]]:
    """Read the alternatives, each a list of what must hold together. Raises GoError for what is no constraint."""
    if len(text) > MAX_LENGTH:
        raise GoError(f"a constraint of more than {MAX_LENGTH} characters is refused")
    expanded = RANGE.sub(r">= \1, <= \2 ", text)
    return [_clauses(alternative) for alternative in expanded.split("||")]


def _clauses(text: str) -> list[Clause]:
    clauses = []
    position = 0
    while match := CLAUSE.match(text, position):
        clauses.append(_clause(match))
        separator = SEPARATOR.match(text, match.end())
        position = separator.end() if separator else match.end()
        if position == len(text) and not (separator and "," in separator[0]):
            return clauses
        if separator is None:
            break
    raise GoError(f"improper constraint: {text}")


def _clause(match: re.Match[str]) -> Clause:
    numbers = [match["major"], match["minor"], match["patch"]]
    given = next((index for index, number in enumerate(numbers) if number in WILDCARDS), 3)
    prerelease = match["prerelease"] or ""
    metadata = (match["metadata"] or "") if given == 3 else ""
    try:
        version = parse(".".join(numbers[:given] + ["0"] * (3 - given)) + prerelease + metadata)
    except GoError:
        raise GoError("constraint Parser Error") from None
    return Clause(operator=match["operator"], version=version, given=given)


def _differs(version: Version, clause: Clause) -> bool:
    wanted, given = clause.version, clause.given
    if given == 3:
        return compare(version, wanted) != 0
    if version.prerelease and not wanted.prerelease:
        return False
    if given == 0:
        return compare(version, wanted) != 0
    if version.numbers[:given] != wanted.numbers[:given]:
        return True
    return given == 2 and compare_prereleases(version.prerelease, wanted.prerelease) != 0


def _greater(version: Version, clause: Clause) -> bool:
    wanted, given = clause.version, clause.given
    if given in (1, 2):
        return version.numbers[:given] > wanted.numbers[:given]
    return compare(version, wanted) > 0


def _less(version: Version, clause: Clause) -> bool:
    return compare(version, clause.version) < 0


def _greater_or_equal(version: Version, clause: Clause) -> bool:
    return compare(version, clause.version) >= 0


def _less_or_equal(version: Version, clause: Clause) -> bool:
    if clause.given == 3:
        return compare(version, clause.version) <= 0
    counted = 1 if clause.given == 1 else 2
    return version.numbers[:counted] <= clause.version.numbers[:counted]


def _tilde(version: Version, clause: Clause) -> bool:
    """Allow newer ones with the same major and, if it was given, the same minor number."""
    wanted, given = clause.version, clause.given
    if compare(version, wanted) < 0:
        return False
    if wanted.numbers == (0, 0, 0) and given in (0, 3):
        return True
    counted = 1 if given == 1 else 2
    return version.numbers[:counted] == wanted.numbers[:counted]


def _equal(version: Version, clause: Clause) -> bool:
    return _tilde(version, clause) if clause.given < 3 else compare(version, clause.version) == 0


def _caret(version: Version, clause: Clause) -> bool:
    """Allow newer ones that differ only right of the first number that is not 0."""
    wanted, given = clause.version, clause.given
    if compare(version, wanted) < 0:
        return False
    if wanted.major > 0 or given == 1:
        counted = 1
    elif wanted.minor > 0 or given == 2:
        counted = 2
    else:
        counted = 3
    return version.numbers[:counted] == wanted.numbers[:counted]


CHECKS: Mapping[str, Callable[[Version, Clause], bool]] = {
    "": _equal,
    "=": _equal,
    ">": _greater,
    "<": _less,
    ">=": _greater_or_equal,
    "=>": _greater_or_equal,
    "<=": _less_or_equal,
    "=<": _less_or_equal,
    "~": _tilde,
    "~>": _tilde,
    "^": _caret,
}


def semver_compare(constraint: str, version: str) -> bool:
    """Tell whether a version satisfies a constraint. Raises GoError if either cannot be read."""
    alternatives = parse_constraint(constraint)
    checked = parse(version)
    return any(all(clause.allows(checked) for clause in clauses) for clauses in alternatives)


FUNCTIONS: Mapping[str, Function] = {"semverCompare": typed(semver_compare, "string", "string")}
