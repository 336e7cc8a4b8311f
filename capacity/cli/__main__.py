"""`python -m capacity.cli` is the command."""

import sys

from . import main

sys.exit(main())
