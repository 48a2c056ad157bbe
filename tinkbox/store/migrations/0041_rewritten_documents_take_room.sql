-- A document of a workflow takes the room of its text of now when its annotations change.
CREATE TRIGGER workflow_document_takes_other_room AFTER UPDATE OF document ON workflow_document BEGIN
    UPDATE room SET octets = octets + length(new.document) - length(old.document) WHERE kind = 'workflows';
END;
