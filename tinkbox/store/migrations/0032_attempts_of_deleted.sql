-- Of which workflow an attempt in a machine's history was, and when it began, once that workflow was deleted: so that what ran
-- there before it is not taken up again as if nothing had come between.  Of those that were deleted before this nothing is known.
ALTER TABLE journal ADD COLUMN deleted_workflow TEXT NOT NULL DEFAULT '';
ALTER TABLE journal ADD COLUMN deleted_began TEXT NOT NULL DEFAULT '';
