"""The names of Sprig that templates cannot call here, and why: rendering is repeatable and touches nothing outside."""

from collections.abc import Mapping

CLOCK = "uses the clock or the time zone, and rendering must be repeatable"
CHANCE = "uses randomness, and rendering must be repeatable"
ENVIRONMENT = "reads the environment of the appliance"
NETWORK = "asks the network"
CIPHERS = "needs a cryptography library, which is not packed"
SLOW = "is as slow as it is meant to be (scrypt), so that a template could hold up the appliance"

NAMES = {
    CLOCK: (
        "ago date date_in_zone date_modify dateInZone dateModify htmlDate htmlDateInZone must_date_modify "
        "mustDateModify mustToDate now toDate unixEpoch"
    ),
    CHANCE: (
        "bcrypt encryptAES genCA genCAWithKey genPrivateKey genSelfSignedCert genSelfSignedCertWithKey genSignedCert "
        "genSignedCertWithKey htpasswd randAlpha randAlphaNum randAscii randBytes randInt randNumeric shuffle uuidv4"
    ),
    ENVIRONMENT: "env expandenv",
    NETWORK: "getHostByName",
    CIPHERS: "buildCustomCert decryptAES",
    SLOW: "derivePassword",
}
REFUSED: Mapping[str, str] = {name: reason for reason, names in NAMES.items() for name in names.split()}
