"""The storage format: what stands in the JSON columns, apart from what travels (`tinkbox.wire`).

Rule 1: every key is spelled here.  Neither a new word between worker and appliance nor a new name in `tinkbox.model` changes
what is stored.
Rule 2: every row that was ever written can be read: a key that came later has a default, and none is given another meaning.
Rule 3: what is stored was bounded when it came in.  Nothing is cut or refused here; a row that is not of this format was damaged.

Questions in SQL look into some of these texts: `$.wipes` of an action, `$.reason` of an outcome.
"""
