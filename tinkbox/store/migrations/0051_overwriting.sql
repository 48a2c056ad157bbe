-- Earlier releases did not overwrite what they deleted: in their files it lies on, where nothing else came since.  A row here
-- says that the file is to be written anew without it, however large it is (store.rewriting).  A new file has none.

CREATE TABLE rewriting (due INTEGER NOT NULL);

INSERT INTO rewriting SELECT 1 FROM pragma_user_version WHERE user_version > 0;
