-- The box's authority, by its fingerprint: whoever starts a copy without DATA/tls hears that one is missing.
CREATE TABLE authority (fingerprint TEXT NOT NULL);             -- one row, none before the first start and after it was forgotten
