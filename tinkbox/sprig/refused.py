"""The names of Sprig that templates cannot call here, and why: rendering touches nothing outside."""

from collections.abc import Mapping

ENVIRONMENT = "reads the environment of the appliance, which may hold secrets"
NETWORK = "asks the network, and so would give anything else each time, or nothing"

NAMES = {
    ENVIRONMENT: "env expandenv",
    NETWORK: "getHostByName",
}
REFUSED: Mapping[str, str] = {name: reason for reason, names in NAMES.items() for name in names.split()}
