"""Every configuration write: check, save, audit, new revision, publish.

Each call answers after its change is in force in this process; a refused one has changed nothing.
"""

from __future__ import annotations

from routeradmin.catalog.files import Unfit
from routeradmin.catalog.problems import Invalid, Problem
from routeradmin.services.changes.commit import Actor, Commit, standing_warnings
from routeradmin.services.changes.documents import (
    Imported,
    replace_document,
    revision_document,
    rollback,
)
from routeradmin.services.changes.errors import (
    AlreadyExists,
    Dependent,
    InUse,
    NotFound,
    Refused,
    Stale,
)
from routeradmin.services.changes.importing import (
    FileImport,
    import_file,
    opened_file,
    sealed_file,
)
from routeradmin.services.changes.keys import (
    create_key,
    delete_key,
    key_values,
    revoke_key,
    update_key,
)
from routeradmin.services.changes.nouns import AUDITED, EDITABLE, NOUN_OF_KIND, NOUNS, values_of
from routeradmin.services.changes.objects import (
    ANY,
    Deleted,
    Saved,
    create,
    delete,
    update,
    update_defaults,
)
from routeradmin.services.changes.references import dependents
from routeradmin.services.changes.states import disable, drain, enable, set_admin_state
from routeradmin.services.changes.stored_secrets import replace_secret, rotate_sealing
from routeradmin.services.changes.users import create_user, delete_user, update_user, user_values
from routeradmin.services.changes.webhooks import (
    create_webhook,
    delete_webhook,
    update_webhook,
    webhook_values,
)

__all__ = [
    "ANY",
    "AUDITED",
    "EDITABLE",
    "NOUNS",
    "NOUN_OF_KIND",
    "Actor",
    "AlreadyExists",
    "Commit",
    "Deleted",
    "Dependent",
    "FileImport",
    "Imported",
    "InUse",
    "Invalid",
    "NotFound",
    "Problem",
    "Refused",
    "Saved",
    "Stale",
    "Unfit",
    "create",
    "create_key",
    "create_user",
    "create_webhook",
    "delete",
    "delete_key",
    "delete_user",
    "delete_webhook",
    "dependents",
    "disable",
    "drain",
    "enable",
    "import_file",
    "key_values",
    "opened_file",
    "replace_document",
    "replace_secret",
    "revision_document",
    "revoke_key",
    "rollback",
    "rotate_sealing",
    "sealed_file",
    "set_admin_state",
    "standing_warnings",
    "update",
    "update_defaults",
    "update_key",
    "update_user",
    "update_webhook",
    "user_values",
    "values_of",
    "webhook_values",
]
