"""``python -m mpitrace`` is the program ``mpitrace`` that came with the package."""

import os
import sys

from ._installed import program

if __name__ == "__main__":
    os.execv(program(), ["mpitrace", *sys.argv[1:]])
