"""The door: ``python cli.py …`` in a checkout does what the installed ``rulebook`` does."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "src"))

from rulebook.cli import main

if __name__ == "__main__":
    sys.exit(main())
