"""`python -m scalarviz` is `scalarviz`."""

from scalarviz.apps.cli import main

if __name__ == "__main__":
    main()
