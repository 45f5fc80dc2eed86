"""What must happen once for each run: a line in the ledger. `--verify` tells whether it did."""

import os
import random
import sys
import time
from pathlib import Path

LEDGER = Path("ledger.txt")
CALL = os.environ["COTERIE_CALL"]


def release() -> None:
    """Take a while, write one line at once, take another while."""
    time.sleep(random.uniform(0, 1.0))
    ledger = os.open(LEDGER, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.write(ledger, f"{CALL}\n".encode())
    os.close(ledger)
    time.sleep(random.uniform(0, 1.0))


def verify() -> int:
    """0: it is there; 1: it is not; 7: now and then nobody can tell."""
    if random.random() < 0.2:
        return 7
    return 0 if LEDGER.exists() and CALL in LEDGER.read_text().splitlines() else 1


if __name__ == "__main__":
    sys.exit(verify() if "--verify" in sys.argv else release())
