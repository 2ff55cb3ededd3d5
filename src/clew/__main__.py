"""`python -m clew` is the command line."""

import sys

from clew.surfaces.cli.main import main

sys.exit(main())
