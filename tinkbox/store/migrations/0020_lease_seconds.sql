-- For how long an address is lent or kept out, from when that was written down: whatever the clock says later, it is no longer.
-- Of what was lent before only the end is known: 4294967295 is the most that `dhcp.lease` takes.
ALTER TABLE lease ADD COLUMN seconds INTEGER NOT NULL DEFAULT 4294967295;
UPDATE lease SET seconds = CASE state WHEN 'RELEASED' THEN 0 ELSE 600 END WHERE state <> 'BOUND';
