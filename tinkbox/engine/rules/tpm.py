"""Whether a machine's boot counts, by the TPM that it proved to have."""

from tinkbox.model.session import TicketRefusal, TpmRule


def refusal(rule: TpmRule, accepted: str, shown: str, *, without: bool) -> TicketRefusal | None:
    """Why a machine may not work that showed this TPM; None: it may.

    TPMs are named by their fingerprints, empty: none.  `accepted` is the one that the machine has to show.  The first of a
    machine that worked `without` one before may be that of another host, which would shut the machine out for good.
    """
    if rule is TpmRule.OFF or shown == accepted != "":
        return None
    if not shown:
        return TicketRefusal.NO_TPM if accepted or rule is TpmRule.ACCEPTED else None
    if accepted:
        return TicketRefusal.OTHER_TPM
    return TicketRefusal.NEW_TPM if rule is TpmRule.ACCEPTED or without else None
