-- Of every machine that was seen booting again the session's secret is 'booted': only the hashes are unique.
DROP INDEX session_secret;
CREATE UNIQUE INDEX session_secret ON session (secret) WHERE secret NOT IN ('', 'booted');
