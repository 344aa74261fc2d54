"""Runs the module's tests: run.py PACKAGES PROGRAM. Leaves with 77, "skipped", where pytest or NumPy is absent."""
import os
import subprocess
import sys

try:
    import numpy  # noqa: F401
    import pytest  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
environment = os.environ | {"PYTHONPATH": sys.argv[1], "ATTEND_PROGRAM": sys.argv[2]}
here = os.path.dirname(os.path.abspath(__file__))
sys.exit(subprocess.run([sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", here], env=environment,
                        check=False).returncode)
