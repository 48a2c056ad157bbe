-- When their workflows ended, so that those of the oldest can go: what was forgotten before is older than what follows.
ALTER TABLE forgotten_declaration ADD COLUMN ended_at TEXT NOT NULL DEFAULT '';
CREATE INDEX forgotten_declaration_by_age ON forgotten_declaration (ended_at);
