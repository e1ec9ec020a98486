"""`python -m sweeper.cli`: the same as `sweeper`."""

from sweeper.cli.main import main

if __name__ == "__main__":
    main()
