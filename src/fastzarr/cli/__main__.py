"""`python -m fastzarr.cli`: the command."""

from fastzarr.cli import main

if __name__ == "__main__":
    main()
