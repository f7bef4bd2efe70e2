#!/usr/bin/env python
"""Django's command line, pointed at routeradmin's settings."""

from __future__ import annotations

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "routeradmin.settings")
    from django.core.management import execute_from_command_line

    from routeradmin.env import BadVariable

    try:
        execute_from_command_line(sys.argv)
    except BadVariable as problem:
        sys.exit(str(problem))
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
