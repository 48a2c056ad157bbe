-- Which TPM 2.0 a machine proved to have, by the SHA-256, in hex, of its endorsement key; empty: none.
ALTER TABLE session ADD COLUMN tpm TEXT NOT NULL DEFAULT '';           -- when this session began
ALTER TABLE session ADD COLUMN tpm_accepted TEXT NOT NULL DEFAULT '';  -- which one the machine has to show
ALTER TABLE session ADD COLUMN without_tpm INTEGER NOT NULL DEFAULT 0; -- a boot said that the machine has none
