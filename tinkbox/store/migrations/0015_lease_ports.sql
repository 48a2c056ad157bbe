-- Where a relay said that the machine is plugged in: unknown machines behind one port have a part of a pool.
ALTER TABLE lease ADD COLUMN port BLOB NOT NULL DEFAULT x'';
