"""The packages; all else is in setup.cfg, which can find them, or list them, but not both."""

from setuptools import find_packages, setup

setup(
    # Scenes, lessons and the guide stay at the top of the checkout, where people find them.
    packages=[
        *find_packages(include=["scalarviz*"]),
        *("scalarviz.scenes", "scalarviz.notebooks", "scalarviz.guide"),
    ],
    package_dir={
        "scalarviz": "scalarviz",
        "scalarviz.scenes": "scenes",
        "scalarviz.notebooks": "notebooks",
        "scalarviz.guide": "docs/guide",
    },
)
