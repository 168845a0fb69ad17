"""The packages; all else is in setup.cfg, which can find them, or list them, but not both."""

from setuptools import find_packages, setup

setup(
    # The scenes stay at the top of the checkout, where people find them, and travel in the package.
    packages=[*find_packages(include=["scalarviz*"]), "scalarviz.scenes"],
    package_dir={"scalarviz": "scalarviz", "scalarviz.scenes": "scenes"},
)
