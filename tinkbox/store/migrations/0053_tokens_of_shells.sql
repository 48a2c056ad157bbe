-- The id of the token that a shell's driver came with, empty for the unix socket; NULL: an earlier release did not keep it.
ALTER TABLE shell ADD COLUMN token TEXT;
