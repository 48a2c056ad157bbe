-- Which machines the document of a workflow meant when the workflow was made: their ids by `namespace/name`, in JSON.  They may be
-- called otherwise by now.
ALTER TABLE declaration ADD COLUMN machines TEXT NOT NULL DEFAULT '{}';
ALTER TABLE forgotten_declaration ADD COLUMN machines TEXT NOT NULL DEFAULT '{}';
