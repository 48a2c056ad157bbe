-- What the workflow pins the image's name to; '': nothing yet.
ALTER TABLE action  ADD COLUMN digest TEXT NOT NULL DEFAULT '';
ALTER TABLE service ADD COLUMN digest TEXT NOT NULL DEFAULT '';
