ALTER TABLE workflow ADD COLUMN deleting INTEGER NOT NULL DEFAULT 0;  -- what is its goes, piece by piece; nobody finds it
CREATE INDEX workflow_that_goes ON workflow (number) WHERE deleting;
