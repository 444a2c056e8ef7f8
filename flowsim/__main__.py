"""python -m flowsim"""

import sys

from .cli import main

sys.exit(main())
