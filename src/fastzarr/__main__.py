"""`python -m fastzarr`: the command."""

from fastzarr.cli import main

if __name__ == "__main__":
    main()
