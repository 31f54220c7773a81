"""``python -m rulebook`` does what ``rulebook`` does."""

import sys

from rulebook.cli import main

if __name__ == "__main__":
    sys.exit(main())
