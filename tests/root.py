"""The folder of the checkout."""

from pathlib import Path

ROOT = Path(__file__).parent.parent
