-- The MAC of the host that exchanged the ticket, as the kernel had it; empty: not known.
ALTER TABLE session ADD COLUMN neighbour TEXT NOT NULL DEFAULT '';
