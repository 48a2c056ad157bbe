"""Setting up an appliance on this host, as `tinkbox init` does: what is there, what is proposed, what is put where."""
