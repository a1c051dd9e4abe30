import sys

from simulated_engine.cli import main

sys.exit(main())
