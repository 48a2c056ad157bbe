-- Which attempts in a machine's history were of a workflow that was deleted, so that what ran there before it is not taken up
-- again as if nothing had come between.  Of those that were deleted before this nothing is known.
ALTER TABLE journal ADD COLUMN of_deleted INTEGER NOT NULL DEFAULT 0;
