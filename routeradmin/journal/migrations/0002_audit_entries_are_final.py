"""The database refuses to alter an audit entry."""

from __future__ import annotations

from django.db import migrations

TABLE = "journal_auditentry"
SQLITE = f"""
CREATE TRIGGER auditentry_is_final BEFORE UPDATE ON {TABLE}
BEGIN SELECT RAISE(ABORT, 'audit entries are final'); END
"""
POSTGRESQL = f"""
CREATE FUNCTION auditentry_is_final() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'audit entries are final' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER auditentry_is_final BEFORE UPDATE ON {TABLE}
FOR EACH ROW EXECUTE FUNCTION auditentry_is_final();
"""
UNDO_SQLITE = "DROP TRIGGER auditentry_is_final"
UNDO_POSTGRESQL = f"DROP TRIGGER auditentry_is_final ON {TABLE}; DROP FUNCTION auditentry_is_final()"


def install(apps, schema_editor) -> None:
    postgresql = schema_editor.connection.vendor == "postgresql"
    schema_editor.execute(POSTGRESQL if postgresql else SQLITE, params=None)


def remove(apps, schema_editor) -> None:
    postgresql = schema_editor.connection.vendor == "postgresql"
    schema_editor.execute(UNDO_POSTGRESQL if postgresql else UNDO_SQLITE, params=None)


class Migration(migrations.Migration):
    dependencies = [("journal", "0001_initial")]
    operations = [migrations.RunPython(install, remove)]
