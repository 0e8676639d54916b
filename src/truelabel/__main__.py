"""``python -m truelabel``."""

from truelabel.cli.main import main

if __name__ == "__main__":
    main()
