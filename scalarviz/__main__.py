"""`python -m scalarviz` is `scalarviz`."""

if __name__ == "__main__":
    try:
        import os
        import signal

        # Before the program installs its own handlers, Ctrl-C has nothing to clean up.
        signal.signal(signal.SIGINT, lambda number, frame: os._exit(130))
        from scalarviz.cli.commands import main
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    main()
