"""Run the command line with ``python -m sugartag``."""

from sugartag.cli.main import main

if __name__ == "__main__":
    main(prog_name="sugartag")
