"""Makes up snippets of Go templates: most of them sensible, a few with arguments of a wrong kind.

The same seed gives the same snippets.  What grows with a number (`repeat`, `until`, widths) gets small ones only, for Go
would make any size of it.
"""

import copy
import random
from collections.abc import Iterator
from typing import Any

from tinkbox.gotemplate.values import Int64, NilPointer, NilStrings, Strings, Struct

DATA: dict[str, dict[str, Any]] = {
    "machine": {
        "device_1": "08:00:27:00:00:01",
        "Hardware": {
            "Disks": ["/dev/sda", "/dev/nvme0n1"],
            "Interfaces": [
                {
                    "DHCP": {
                        "MAC": "08:00:27:00:00:01",
                        "Hostname": "one",
                        "Arch": "x86_64",
                        "LeaseTime": 86400,
                        "IP": {"Address": "192.168.56.43", "Netmask": "255.255.255.0", "Family": 4},
                        "NameServers": ["1.1.1.1", "8.8.8.8"],
                    },
                    "Netboot": {"AllowPXE": True},
                },
                {"DHCP": {"MAC": "08:00:27:00:00:02", "IP": None, "NameServers": []}, "Netboot": None},
            ],
            "Metadata": {"Instance": None, "State": "", "Facility": {"PlanSlug": "c3.small.x86"}},
            "UserData": None,
        },
        "hardware": {"spec": {"disks": [{"device": "/dev/sda"}], "lease": 86400.0}, "status": {}},
    },
    "values": {
        "s": "hello world", "e": "", "u": "h\u00e9llo \u263a W\u00f6rld", "n": 42, "z": 0, "neg": -7, "f": 1.5, "fz": 0.0, "w": 3.0,
        "big": 1e21, "max": 9223372036854775807, "min": -9223372036854775808, "t": True, "no": False, "nil": None,
        "l": [1, "two", 3.0, None, True, [1, 2], {"k": "v"}], "le": [], "ln": [3, 1, 2, 3], "lf": [1.5, 2.0, -0.5],
        "m": {"b": 2, "a": 1, "c": {"d": "deep", "e": None}}, "me": {}, "names": ["carol", "alice", "bob", "alice"],
        "ms": {"name": "x", "path": "/a/b", "host": "h"}, "ctl": "a\tb\n\u0000\u007f\u00a0\u00e9\U0001f600",
    },
}  # fmt: skip


def _struct(name: str, fields: dict[str, Any], tags: dict[str, str]) -> Struct:
    """A struct of the program in go_templates; of `tags` those of its fields that JSON has."""
    return Struct(name, fields, {tag: fields[field] for field, tag in tags.items()})


_ADDRESS = _struct(
    "*main.address",
    {"Address": "192.168.56.43", "Netmask": "255.255.255.0", "Family": Int64(4)},
    {"Address": "address", "Netmask": "netmask", "Family": "family"},
)
_FIRST = _struct(
    "*main.dhcp",
    {
        "MAC": "08:00:27:00:00:01",
        "Hostname": "one",
        "LeaseTime": Int64(86400),
        "NameServers": Strings(["1.1.1.1"]),
        "UEFI": False,
        "IP": _ADDRESS,
    },
    {
        "MAC": "mac",
        "Hostname": "hostname",
        "LeaseTime": "lease_time",
        "NameServers": "name_servers",
        "UEFI": "uefi",
        "IP": "ip",
    },
)
_SECOND = _struct(
    "*main.dhcp",
    {
        "MAC": "",
        "Hostname": "",
        "LeaseTime": Int64(0),
        "NameServers": NilStrings(),
        "UEFI": True,
        "IP": NilPointer("*main.address"),
    },
    {"UEFI": "uefi"},
)
STRUCTS: dict[str, Any] = {
    "device_1": "08:00:27:00:00:01",
    "Hardware": Struct(
        "main.hardware",
        fields := {
            "Disks": Strings(["/dev/sda", "/dev/nvme0n1"]),
            "Interfaces": [
                _struct("main.card", {"DHCP": _FIRST, "DisableDhcp": False}, {"DHCP": "dhcp"}),
                _struct(
                    "main.card", {"DHCP": _SECOND, "DisableDhcp": True}, {"DHCP": "dhcp", "DisableDhcp": "disableDhcp"}
                ),
                _struct("main.card", {"DHCP": NilPointer("*main.dhcp"), "DisableDhcp": False}, {}),
            ],
            "Metadata": _struct("main.metadata", {"State": "", "Instance": NilPointer("*main.address")}, {}),
            "UserData": "",
            "VendorData": NilPointer("*string"),
        },
        fields,
    ),
}
PATHS: dict[str, dict[str, list[str]]] = {
    "machine": {
        "str": [
            ".device_1", "(index .Hardware.Disks 0)", "(index .Hardware.Interfaces 0).DHCP.MAC", ".Hardware.Metadata.State",
            "(index .Hardware.Interfaces 0).DHCP.Hostname", ".Hardware.Metadata.Facility.PlanSlug",
            '(index .Hardware.Interfaces 0 "DHCP" "IP" "Address")', "(index .hardware.spec.disks 0).device",
        ],
        "int": ["(index .Hardware.Interfaces 0).DHCP.LeaseTime", "(index .Hardware.Interfaces 0).DHCP.IP.Family"],
        "float": [".hardware.spec.lease"],
        "bool": ["(index .Hardware.Interfaces 0).Netboot.AllowPXE"],
        "list": [".Hardware.Disks", ".Hardware.Interfaces", "(index .Hardware.Interfaces 1).DHCP.NameServers", ".hardware.spec.disks"],
        "strs": [".Hardware.Disks", "(index .Hardware.Interfaces 0).DHCP.NameServers"],
        "ints": ["(list 1 2 3)"],
        "map": [".", ".Hardware", ".Hardware.Metadata", "(index .Hardware.Interfaces 0).DHCP", ".hardware.status", ".hardware"],
        "nil": [".Hardware.UserData", ".Hardware.Metadata.Instance", "(index .Hardware.Interfaces 1).Netboot"],
    },
    "structs": {
        "str": [".device_1", "(index .Hardware.Disks 1)", "(index .Hardware.Interfaces 0).DHCP.MAC", "(index .Hardware.Interfaces 0).DHCP.IP.Address",
                ".Hardware.UserData", ".Hardware.Metadata.State", "(index .Hardware.Interfaces 1).DHCP.Hostname"],
        "int": ["(index .Hardware.Interfaces 0).DHCP.LeaseTime", "(index .Hardware.Interfaces 0).DHCP.IP.Family"],
        "float": ["1.5"],
        "bool": ["(index .Hardware.Interfaces 1).DHCP.UEFI", "(index .Hardware.Interfaces 1).DisableDhcp"],
        "list": [".Hardware.Disks", "(index .Hardware.Interfaces 0).DHCP.NameServers", "(index .Hardware.Interfaces 1).DHCP.NameServers"],
        "strs": [".Hardware.Disks", "(index .Hardware.Interfaces 0).DHCP.NameServers"],
        "ints": ["(list 1 2 3)"],
        "map": ['(dict "disks" .Hardware.Disks)', ".Hardware.Metadata", "(index .Hardware.Interfaces 0).DHCP.IP", "(index .Hardware.Interfaces 1).DHCP", "(index .Hardware.Interfaces 2)"],
        "nil": ["(index .Hardware.Interfaces 1).DHCP.IP", ".Hardware.Metadata.Instance", "(index .Hardware.Interfaces 2).DHCP", ".Hardware.VendorData",
                "(index .Hardware.Interfaces 1).DHCP.NameServers", "(index .Hardware.Interfaces 1).DHCP.IP.Address", ".Hardware.Metadata.Nope"],
    },
    "values": {
        "str": [".s", ".e", ".u", ".ctl", "(index .names 1)", ".m.c.d", ".ms.path"],
        "int": [".n", ".z", ".neg", ".max", ".min", ".m.a", "(index .ln 0)"],
        "float": [".f", ".fz", ".w", ".big", "(index .lf 2)"],
        "bool": [".t", ".no"],
        "list": [".l", ".le", ".ln", ".lf", ".names"],
        "strs": [".names", ".le"],
        "ints": [".ln"],
        "map": [".", ".m", ".me", ".m.c", ".ms"],
        "nil": [".nil", ".m.c.e"],
    },
}  # fmt: skip
LITERALS: dict[str, list[str]] = {
    "str": [
        '""', '"a"', '"abc"', '"hello world"', '"Hello, World!"', '"FooBar"', '"foo_bar-baz"', '"HTTPServer2x"', '" pad "', '"a,b,c"',
        '"\u00fcber \u00dfa\u00df"', '"\\t\\n"', '"\\xff\\xfea"', '"\\u263a\\U0001f600"', "`raw \\n`", '"a\\nb\\n"', '"10"', '"3.0"', '"-5"',
        '"1e3"', '"0x1f"', '"true"', '"null"', '"<b>&\\"\'"', '"\u4e16\u754c"', '"path/to/file.tar.gz"', '"x=1;y=2"', '"NaN"', '"+Inf"', '"-inf"', '"08"', '"1_000"', '"1e400"', '"0b11"', '"0o17"', '"1.0."', '"+7"', '"-0"',
    ],
    "int": ["0", "1", "-1", "2", "7", "42", "100", "-13", "0x1F", "1_000", "017", "'a'", "'\u00e9'", "9223372036854775807", "1e3", "2.0", "1099511627776", "(int64 5)", '(index "abc" 1)', '(semver "3.4.5").Minor', "0b101", "0o17", "-0x1p4"],
    "small": ["0", "1", "2", "3", "5", "8", "-1", "-3", "2.0", "1e1", "'\\x05'"],
    "float": ["0.0", "1.5", "-2.25", "3.0", "1e3", "1e-7", "123456.789", "1e21", "0.1", "2.5", "1e100", "0x1p-2", "99999999.5", '(float64 "NaN")', '(float64 "-Inf")', "(divf 1 3)", "-0.0", "1e308", "5e-324", "4503599627370497.5", "'a'"],
    "bool": ["true", "false"],
    "nil": ["nil"],
    "list": ["list", "(list (int64 1) 1 1.0)", "(rest list)", "(chunk 2 (until 5))", '(regexFindAll "x" "" -1)', '(list (semver "1.2") (semver "1.2"))', "(list (dict) (list) nil false 0 0.0)", '(list 1 "a" nil)', "(list 1 2 3)", '(list "b" "a")', "(list (list 1 2) (list))", "(until 3)", '(splitList "," "a,b,,c")', '(list 1.0 2 "2")', "(tuple 1 2)"],
    "strs": ['(list "b" "a" "c")', '(splitList "," "x,y,z")', "(list)", '(list "a" "a" "B")', '(list "a" nil 3)'],
    "ints": ["(list 3 1 2)", "(until 4)", "(untilStep 1 9 3)", "(list)"],
    "map": ["dict", '(dict "b" (dict "x" 1 "y" nil) "c" "")', '(dict "l" (list 1 2) "m" (dict "n" (dict "o" true)))', "(dict 1 2 true 3)", '(dict "a" 1 "b" "x")', '(dict "a" (dict "b" (list 1)) "n" nil)', '(dict "z" 1.5 "y" true)', '(split "," "p,q")', '(fromJson "{\\"a\\":{\\"b\\":[1,2.5]}}")'],
    "re": ['"a+"', '"[a-z]+"', '"^h"', '"o$"', '"(l+)(o)"', '"."', '""', '"\\\\s+"', '"(?i)HELLO"', '"[^a-z]"', '"x*"', '"("', '"(?P<first>[a-z])[a-z]*"', '"\\\\d{2,}"', '","'],
    "replacement": ['"x"', '"$1"', '"${1}y"', '"$$"', '"${first}!"', '"<$0>"', '"$1x"', '""'],
    "version": ['"1.2.3"', '"v1.2"', '"2"', '"1.2.3-beta.1"', '"1.2.3-beta.1+b345"', '"0.0.9"', '"v3.10.0"', '"01.2"', '"nope"', '"1.2.3-rc1"'],
    "constraint": ['"^1.2"', '"~1.2.3"', '">=1.0 <2"', '"1.x"', '"*"', '"!=1.2.3"', '"1.1 - 1.4"', '"<1 || >2"', '"=1.2.3"', '"~>1"', '">=1.2.3-0"', '"x y"'],
    "json": ['"{\\"a\\":1,\\"b\\":[true,null,\\"x\\"]}"', '"[1,2.5,-3e2]"', '"\\"s\\""', '"3"', '"null"', '"{"', '""', '"{\\"z\\":{\\"y\\":1e300}}"', '" true "'],
    "url": ['"http://user:pw@example.com:8080/a/b?x=1&y=2#frag"', '"https://example.com"', '"/just/path"', '"mailto:a@b.c"', '"//host/p%20q"', '"http://[::1]:80/x"', '"ftp://h/%zz"', '""', '"a b"'],
    "path": ['"/a/b/c.txt"', '"a//b/../c"', '"."', '""', '"/"', '"file.tar.gz"', '"../x"', '"/a/"', '"a/b/."'],
    "duration": ['"1h30m"', '"95s"', '"36h"', '"x"', '"0"', "90", "3600", '"3700"', "1000000000", "3600000000000", "1.5", "61.0", '"1.5h"', '"400h"'],
    "base64": ['"aGVsbG8="', '"aGVsbG8"', '"!!"', '""', '"/+8="', '"NBSWY3DP"', '"nbswy3dp"', '"NBSWY==="', '"YWI="'],
    "date": ['"2006-01-02"'],
    "form": [
        '"%v"', '"%d"', '"%s"', '"%q"', '"%5d|"', '"%-5d|"', '"%05d"', '"%+d"', '"%x"', '"%X"', '"%#x"', '"%o"', '"%b"', '"%c"', '"%U"', '"%#U"', '"%e"', '"%f"',
        '"%.2f"', '"%8.3f|"', '"%g"', '"%.3g"', '"%t"', '"%T"', '"%#v"', '"%+v"', '"%10s|"', '"%-10s|"', '"%.3s"', '"%% %v"', '"%"', '"%!"', '"%z"', '"%v %v"',
        '"%[1]v %[1]T"', '"%[2]v"', '"%6.2f%%"', '"% x"', '"% d"', '"%+q"', '"%#q"', '"%*d"', '"%.*f"', '"%08.3f"', '"%+.2e"', '"%O"', '"%#o"', '"%G"', '"%E"', '"%010s"', '"%w"', '"%5t|"', '"%5v|"', '"%05v"', '"%x %X"', '"none"', '"%.0f"', '"%5.1v"', '"%#g"', '"%#.3x"',
    ],
    "type": ['"string"', '"int"', '"float64"', '"bool"', '"map[string]interface {}"', '"[]interface {}"', '"int64"', '"[]string"', '"<nil>"'],
    "kind": ['"string"', '"int"', '"float64"', '"bool"', '"map"', '"slice"', '"invalid"', '"int64"', '"ptr"'],
    "key": ['"a"', '"b"', '"c"', '"name"', '"nope"', '"_0"', '""', '"d"'],
    "time": ["now"],
}  # fmt: skip
# The functions by what they give; "small" is a number that something grows with, "scalar" any of str, int, float and bool.
SIGNATURES = """
str: trim str; upper str; lower str; title str; untitle str; swapcase str; nospace str; initials str; snakecase str; camelcase str; kebabcase str
str: trimAll str str; trimall str str; trimSuffix str str; trimPrefix str str; trunc small str; substr small small str; repeat small str
str: replace str str str; plural str str int; abbrev int str; abbrevboth int int str; indent small str; nindent small str; wrap int str; wrapWith int str str
str: quote any...; squote any...; cat any...; join str list; join str strs; join str any; toString any; print any...; println any...; html any...; js any...; urlquery any...
str: printf form any; printf form scalar; printf form any any; printf form small float; printf form; printf form int int; printf form any any any
str: regexFind re str; regexReplaceAll re str replacement; regexReplaceAllLiteral re str replacement; regexQuoteMeta str; mustRegexFind re str; mustRegexReplaceAll re str replacement; mustRegexReplaceAllLiteral re str replacement
str: toJson any; toPrettyJson any; toRawJson any; mustToJson any; mustToPrettyJson any; mustToRawJson any
str: b64enc str; b64dec base64; b32enc str; b32dec base64; sha1sum str; sha256sum str; sha512sum str; adler32sum str
str: base path; dir path; clean path; ext path; osBase path; osDir path; osClean path; osExt path; urlJoin map; urlJoin (urlParse_url)
str: duration duration; durationRound duration; typeOf any; kindOf any; seq small; seq small small; seq small small small; slice str small; slice str small small; hello
str: ternary str str bool; default str str; coalesce str str; first strs; last strs; index strs small; get map key; dig key str map; dig key key str map
int: len str; len (values_map); len list; len map; len any; int any; int64 any; atoi str; toDecimal any; add int int; add any...; add1 int; sub int int; mul int int; mul any any; div int int; mod int int; biggest int int; max int int any; min int int; max any; index ints small; index str small; default int int; ternary int int bool; first ints
float: float64 any; addf any...; add1f any; subf float any; mulf float float; divf float float; maxf float any; minf float float; floor any; ceil any; round float small; round any small; round float small float; addf int float; divf int int
bool: eq any any; ne any any; eq str str; eq int int; ne str str; lt int int; le int int; gt float float; ge str str; lt any any; gt any any; eq any any any; not any; and any any; or any any; and bool bool; or bool bool
bool: contains str str; hasPrefix str str; hasSuffix str str; regexMatch re str; mustRegexMatch re str; semverCompare constraint version; empty any; all any...; any any...; hasKey map key; has any list; mustHas any list; isAbs path; osIsAbs path; typeIs type any; typeIsLike type any; kindIs kind any; deepEqual any any; deepEqual list list
list: list any...; tuple any...; rest list; initial list; reverse list; compact list; uniq list; append list any; push list any; prepend list any; without list any...; concat list list; chunk small list; slice list small; slice list small small; pluck key map map; mustRest list; mustInitial list; mustReverse list; mustCompact list; mustUniq list; mustAppend list any; mustPush list any; mustPrepend list any; mustWithout list any; mustSlice list small; mustChunk small list; rest strs; sortAlpha list
strs: splitList str str; sortAlpha strs; toStrings list; regexFindAll re str small; regexSplit re str small; mustRegexFindAll re str small; mustRegexSplit re str small; sortAlpha (keys_map); uniq strs; reverse strs; without strs str; compact strs; initial strs; rest strs
ints: until small; untilStep small small small; uniq ints; reverse ints; rest ints
map: dict key any; dict key any key any; dict any any; set map key any; unset map key; pick map key key; omit map key; merge map map; mergeOverwrite map map map; mustMerge map map; mustMergeOverwrite map map; split str str; splitn str small str; fromJson json; urlParse url; deepCopy map; mustDeepCopy map; dict; get map key
any: default any any; coalesce any any any; ternary any any bool; first list; last list; index list small; index map key; index any any; fromJson json; mustFromJson json; mustFirst list; mustLast list; deepCopy any; and any any; or any any; semver version; dig key any map; get map key; slice any small; fail str; call any; slice list small small small; slice str small small; semver str; print; list; max; min any; seq; slice list; printf any any; len; all; int; quote; cat; coalesce; ternary any any any; fromJson str; dig key any any; dig any any any; set any any any; join any any; eq any; index any; index map key key; index list small small; html any; merge any any; without any any; has any any; contains any any; trunc any any; round any any any; add any any any; pluck any any any; concat any any; concat; default any; regexReplaceAll re str str; typeIs str any; mustToJson any; kindIs str any; first any; last any; rest any; uniq any; compact any; hasKey any any; empty; toStrings any; sortAlpha any; split any any; atoi any; upper any; repeat small any; b64enc any; base any; semverCompare any any; duration any; durationRound any; urlParse any; urlJoin any; replace any any any; toDecimal any; float64 any; floor any; urlJoin map
"""
SCALARS = ("str", "int", "float", "bool")
ANY = (*SCALARS, "str", "int", "list", "strs", "ints", "map", "nil")
SHOWN = (
    "toJson",
    'printf "%v"',
    'printf "%#v"',
    'printf "%T"',
    "typeOf",
    "kindOf",
    "len",
    "quote",
    "print",
    'printf "%q"',
    'printf "%s"',
    "toString",
    "empty",
    "not",
    "html",
)
METHODS = (
    "Major",
    "Minor",
    "Patch",
    "Prerelease",
    "Metadata",
    "Original",
    "String",
    'Compare (semver "1.2.4")',
    "IncMajor",
    "IncPatch.String",
    'SetPrerelease "x"',
    "Nope",
    'Equal (semver "1.2.3")',
    'LessThan (semver "2")',
    'GreaterThan (semver "1")',
)


def _signatures() -> dict[str, list[tuple[str, list[str]]]]:
    found: dict[str, list[tuple[str, list[str]]]] = {}
    for line in SIGNATURES.strip().splitlines():
        kind, _, calls = line.partition(":")
        for call in calls.split(";"):
            name, *parameters = call.split()
            found.setdefault(kind, []).append((name, parameters))
    return found


FUNCTIONS = _signatures()
LIKE = {
    "small": "int",
    "re": "str",
    "version": "str",
    "path": "str",
    "url": "str",
    "type": "str",
    "kind": "str",
    "key": "str",
    "form": "str",
}


def _text(chance: random.Random) -> str:
    return _quoted("".join(chance.choice(CHARACTERS) for _ in range(chance.randrange(9))))


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t") + '"'


def _int(chance: random.Random) -> str:
    size = chance.choice((10, 100, 1000, 1 << 20, 1 << 40, 1 << 63))
    return str(chance.randrange(-size, size))


def _float(chance: random.Random) -> str:
    return repr(round(chance.uniform(-1, 1) * 10.0 ** chance.randrange(-8, 24), chance.randrange(20)))


def _form(chance: random.Random) -> str:
    pieces = []
    for _ in range(chance.choice((1, 1, 2))):
        flags = "".join(chance.choice(("", "", "", "-", "+", "#", " ", "0")) for _ in range(2))
        width = chance.choice(("", "", "", "1", "6", "12", "*", "[2]*"))
        precision = chance.choice(("", "", "", ".", ".0", ".2", ".7", ".*"))
        index = chance.choice(("", "", "", "", "", "[1]", "[3]", "[x]"))
        pieces.append(f"%{flags}{width}{precision}{index}{chance.choice('vvdsqxXobcUeEfFgGtTO%zw')}")
    return _quoted("|".join(pieces))


def _expression(chance: random.Random) -> str:
    parts = ("a", "b", "l", "o", ".", "[a-f]", "[^l]", "\\s", "\\w", "\\d", "\\b", "^", "$", "(o)", "(a|e)", "(?:l)", "\u00e9", "\\pL", "[[:alpha:]]", "(?i:H)")  # fmt: skip
    return _quoted(
        "".join(
            chance.choice(parts) + chance.choice(("", "", "", "*", "+", "?", "*?", "{1,2}"))
            for _ in range(chance.randrange(4))
        )
    )


def _version(chance: random.Random) -> str:
    numbers = ".".join(str(chance.choice((0, 1, 2, 10))) for _ in range(chance.choice((1, 2, 3, 3, 3, 4))))
    prerelease = chance.choice(("", "", "", "-a", "-1", "-rc.1", "-01", "-"))
    return f"{chance.choice(('', '', 'v'))}{numbers}{prerelease}{chance.choice(('', '', '', '+m.1'))}"


def _constraint(chance: random.Random) -> str:
    operators = ("", "=", "!=", ">", "<", ">=", "=>", "<=", "~", "~>", "^", "> ", "==")
    clauses = (
        f"{chance.choice(operators)}{chance.choice((_version(chance), '1.x', '*', '1.2.x', '0'))}"
        for _ in range(chance.choice((1, 1, 2)))
    )
    return _quoted(chance.choice((" ", ", ", ",", " || ", " - ")).join(clauses))


def _json(chance: random.Random, depth: int = 2) -> str:
    what = chance.randrange(9 if depth else 6)
    if what < 6:
        return (str(chance.randrange(-5, 1000)), "1.5e3", "true", "null", '"a\\u00e9\\n<"', "-0.0")[what]
    if what < 8:
        return "[" + ", ".join(_json(chance, depth - 1) for _ in range(chance.randrange(3))) + "]"
    return (
        "{"
        + ",".join(f'"{chance.choice("abc")}": {_json(chance, depth - 1)}' for _ in range(chance.randrange(3)))
        + "}"
    )


def _url(chance: random.Random) -> str:
    scheme = chance.choice(("http://", "https://", "", "//", "ftp:", "x-y:", "1:"))
    user = chance.choice(("", "", "", "u@", "u:p%40@", ":@"))
    host = chance.choice(("h", "a.b.c:80", "[::1]", "[fe80::1%25en0]:8", "h\u00e9", "", "h:x", "a%20b"))
    rest = chance.choice(("", "/", "/a b", "/a%2Fb", "?q=1", "/x?y#z%41", "#", "/\u00e9", "*"))
    return _quoted(scheme + user + host + rest)


def _path(chance: random.Random) -> str:
    return _quoted("".join(chance.choice(("/", "a", "b.c", "..", ".", "//", "/x")) for _ in range(chance.randrange(7))))


def _duration(chance: random.Random) -> str:
    if chance.random() < 0.3:
        return f"(int64 {_int(chance)})"
    units = ("h", "m", "s", "ms", "us", "\u00b5s", "ns", "d", "")
    parts = (
        f"{chance.choice((0, 1, 1.5, 30, 90, 8761, '.5'))}{chance.choice(units)}"
        for _ in range(chance.choice((1, 1, 2)))
    )
    return _quoted(chance.choice(("", "", "-", "+")) + "".join(parts))


CHARACTERS = "aabbcXYZ 019_-./,:;=+\n\t\"'<>&%$\u00e9\u00df\u0130\u01c5\u4e2d\u200b\U0001f600\\"
MADE = {
    "str": _text, "int": _int, "float": _float, "form": _form, "re": _expression, "constraint": _constraint, "url": _url,
    "path": _path, "duration": _duration, "version": lambda chance: _quoted(_version(chance)), "json": lambda chance: _quoted(_json(chance)),
    "base64": lambda chance: _quoted("".join(chance.choice("AaBbZz019+/=-7N") for _ in range(chance.randrange(13)))),
}  # fmt: skip


def damaged(text: str, chance: random.Random) -> str:
    """A text with a character or two put in, taken out or doubled."""
    for _ in range(chance.choice((1, 1, 2))):
        at = chance.randrange(len(text) + 1)
        piece = chance.choice(
            ("", "", text[at : at + 2] * 2, *"{}()|.$:=-+'\"`,% 0x1eia_\n/*", "{{", "}}", "nil", "end", "\u00e9")
        )
        text = text[:at] + piece + text[at + 1 :]
    return text


class Maker:
    """Makes one snippet."""

    def __init__(self, chance: random.Random, data: str) -> None:
        self.chance = chance
        self.paths = PATHS[data]
        self.variables: dict[str, list[str]] = {}
        self.dot: list[str] = []  # the kind of dot where it is no longer the whole
        self.templates: list[str] = []
        self.depth = 0

    def expression(self, kind: str, depth: int) -> str:
        """An operand of a kind: in parentheses where it has to be."""
        chance = self.chance
        if kind == "scalar":
            kind = chance.choice(SCALARS)
        if kind == "any":
            kind = chance.choice(ANY)
        if chance.random() < 0.02 and kind != "small":
            kind = chance.choice(ANY)
        if depth > 0 and kind in FUNCTIONS and chance.random() < 0.45:
            return f"({self.call(kind, depth)})"
        if depth > 0 and kind != "nil" and chance.random() < 0.06:
            return f"({self.call('any', depth)})"
        return self.leaf(kind)

    def leaf(self, kind: str) -> str:
        chance = self.chance
        if kind in self.variables and self.variables[kind] and chance.random() < 0.5:
            return chance.choice(self.variables[kind])
        if self.dot and self.dot[-1] == kind and chance.random() < 0.5:
            return "."
        if kind in self.paths and chance.random() < 0.5:
            path = chance.choice(self.paths[kind])
            return (
                path
                if not self.dot
                else path.replace("(index .", "(index $.").replace(".", "$.", 1)
                if path.startswith(".") and path != "."
                else path.replace("(index .", "(index $.")
                if path != "."
                else "$"
            )
        if kind in MADE and chance.random() < 0.5:
            return MADE[kind](chance)
        return chance.choice(LITERALS.get(kind) or LITERALS["str"])

    def call(self, kind: str, depth: int) -> str:
        chance = self.chance
        name, parameters = chance.choice(FUNCTIONS[kind])
        if name == "semver" and chance.random() < 0.7:
            return f"(semver {self.expression('version', 0)}).{chance.choice(METHODS)}"
        arguments = []
        for parameter in parameters:
            if parameter.startswith("("):
                given, _, of = parameter[1:-1].partition("_")
                arguments.append(f"({given} {self.expression(of, 0)})")
            elif parameter.endswith("..."):
                arguments += [
                    self.expression(parameter[:-3], depth - 1) for _ in range(chance.choice((0, 1, 1, 2, 2, 3)))
                ]
            else:
                arguments.append(self.expression(parameter, depth - 1))
        if chance.random() < 0.01:
            arguments = arguments[:-1] if chance.random() < 0.5 else [*arguments, "1"]
        if arguments and chance.random() < 0.35:
            *before, last = arguments
            if last != "nil":
                last = last[1:-1] if last.startswith("(") and last.endswith(")") and self._whole(last) else last
                return " ".join([f"{last} |", name, *before])
        return " ".join([name, *arguments])

    @staticmethod
    def _whole(text: str) -> bool:
        """Whether the first parenthesis closes at the end."""
        depth = 0
        quoted = ""
        escaped = False
        for at, each in enumerate(text):
            if escaped:
                escaped = False
            elif quoted:
                if each == "\\" and quoted != "`":
                    escaped = True
                elif each == quoted:
                    quoted = ""
            elif each in "\"'`":
                quoted = each
            elif each in "()":
                depth += 1 if each == "(" else -1
                if depth == 0 and at < len(text) - 1:
                    return False
        return True

    def pipeline(self, kind: str, depth: int = 2) -> str:
        chance = self.chance
        if kind == "any":
            kind = chance.choice(ANY[:-1])
        if kind in FUNCTIONS and chance.random() < 0.8:
            return self.call(kind, depth)
        return self.leaf(kind)

    def shown(self) -> str:
        """An action that prints something."""
        chance = self.chance
        if chance.random() < 0.05:
            return (
                f"{{{{ {self.pipeline('nil')} | {chance.choice(SHOWN)} }}}}"
                if chance.random() < 0.5
                else f"{{{{ {self.leaf('nil').replace('nil', '.nil')} }}}}"
            )
        whole = self.pipeline(chance.choice((*ANY[:-1], "any")))
        if chance.random() < 0.35:
            whole += f" | {chance.choice(SHOWN)}"
        left = chance.choice(("{{ ", "{{ ", "{{ ", "{{- ", "{{"))
        right = chance.choice((" }}", " }}", " }}", " -}}", "}}"))
        return left + whole + right

    def statement(self) -> str:
        chance = self.chance
        self.depth += 1
        what = chance.random() if self.depth < 3 else chance.random() * 0.5
        try:
            if what < 0.5:
                return self.shown()
            if what < 0.56:
                return chance.choice(
                    ("text", " \n ", "key: value\n", "{{/* note */}}", "{{- /* note */ -}} ", '{{"{{"}}', "}} x")
                )
            if what < 0.68:
                return self.branch("if")
            if what < 0.78:
                return self.branch("with")
            if what < 0.92:
                return self.loop()
            if what < 0.96:
                return self.variable()
            return self.template()
        finally:
            self.depth -= 1

    def body(self) -> str:
        before = {kind: list(names) for kind, names in self.variables.items()}
        text = "".join(self.statement() for _ in range(self.chance.choice((1, 1, 2))))
        self.variables = before
        return text

    def branch(self, word: str) -> str:
        chance = self.chance
        kind = chance.choice(ANY[:-1])
        arms = f"{{{{ {word} {self.pipeline(kind, 1)} }}}}"
        if word == "with":
            self.dot.append(kind)
        arms += self.body()
        if word == "with":
            self.dot.pop()
        if chance.random() < 0.25:
            arms += f"{{{{ else {word} {self.pipeline(chance.choice(SCALARS), 1)} }}}}" + (
                "x" if word == "with" else self.body()
            )
        if chance.random() < 0.5:
            arms += "{{ else }}" + self.body()
        return arms + "{{ end }}"

    def loop(self) -> str:
        chance = self.chance
        kind = chance.choice(("list", "strs", "ints", "map", "small"))
        element = {"strs": "str", "ints": "int", "small": "int"}.get(kind, "any")
        over = (
            self.pipeline(kind, 1)
            if kind != "small"
            else chance.choice(
                (
                    "3",
                    ".n" if not self.dot and ".n" in self.paths["int"] else "2",
                    "0",
                    "-1",
                    "2.0",
                    "(int64 2)",
                    ".",
                    "nil",
                    '"ab"',
                    "1.5",
                    "true",
                )
            )
        )
        before = {each: list(names) for each, names in self.variables.items()}
        form = chance.random()
        number = self.depth
        if form < 0.3:
            head = over
        elif form < 0.6:
            head = f"$v{number} := {over}"
            self.variables.setdefault(element, []).append(f"$v{number}")
        else:
            head = f"$i{number}, $v{number} := {over}"
            self.variables.setdefault("str" if kind == "map" else "int", []).append(f"$i{number}")
            self.variables.setdefault(element, []).append(f"$v{number}")
        self.dot.append(element)
        inside = self.body()
        if chance.random() < 0.15:
            inside += f"{{{{ if {self.expression('bool', 1)} }}}}{{{{ {chance.choice(('break', 'continue'))} }}}}{{{{ end }}}}|"
        self.dot.pop()
        self.variables = before
        otherwise = "{{ else }}none" if chance.random() < 0.3 else ""
        return f"{{{{ range {head} }}}}{inside},{otherwise}{{{{ end }}}}"

    def variable(self) -> str:
        chance = self.chance
        kind = chance.choice(ANY[:-1])
        known = [name for names in self.variables.values() for name in names]
        if known and chance.random() < 0.4:
            name = chance.choice(known)
            return f"{{{{ {name} = {self.pipeline(kind, 1)} }}}}{{{{ {name} }}}}"
        name = f"$x{chance.randrange(3)}"
        text = f"{{{{ {name} := {self.pipeline(kind, 1)} }}}}"
        self.variables.setdefault(kind, []).append(name)
        return text

    def template(self) -> str:
        chance = self.chance
        name = f"part{len(self.templates)}"
        self.templates.append(name)
        kind = chance.choice(ANY[:-1])
        given = self.expression(kind, 1)
        outside, self.variables = self.variables, {}
        dot, self.dot = self.dot, [kind]
        inside = self.shown() if chance.random() < 0.5 else "{{ . }}"
        self.variables, self.dot = outside, dot
        inside = inside.replace("$.", ".") if chance.random() < 0.3 else inside
        if chance.random() < 0.5:
            return f'{{{{ block "{name}" {given} }}}}{inside}{{{{ end }}}}'
        call = f'{{{{ template "{name}" {given} }}}}'
        if self.depth > 1 or self.dot:
            return f'{{{{ block "{name}" {given} }}}}[{inside}]{{{{ end }}}}'
        return f'{{{{ define "{name}" }}}}{inside}{{{{ end }}}}{call}'


def asked(data: str) -> Any:
    """What the program in go_templates is asked for these data."""
    return data if data == "structs" else DATA[data]


def given(data: str) -> Any:
    """The data for a rendering of ours, which may change them."""
    return copy.deepcopy(STRUCTS if data == "structs" else DATA[data])


def snippets(seed: int, count: int) -> Iterator[tuple[str, str]]:
    """That many pairs of a template and the name of its data."""
    chance = random.Random(seed)
    for _ in range(count):
        data = chance.choice(("machine", "values", "values", "structs"))
        maker = Maker(chance, data)
        text = "".join(maker.statement() for _ in range(chance.choice((1, 1, 1, 2))))
        yield (damaged(text, chance) if chance.random() < 0.1 else text), data
