"""`python -m scalarviz` and the program `scalarviz`."""


def run() -> None:
    """Run the command line in this process; Ctrl-C during loading ends it silently."""
    try:
        import os
        import signal

        # Before the program installs its own handlers, Ctrl-C has nothing to clean up.
        signal.signal(signal.SIGINT, lambda number, frame: os._exit(130))
        from scalarviz.faces.cli.commands import main
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    main()


if __name__ == "__main__":
    run()
