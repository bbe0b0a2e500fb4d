"""Amounts on the command line: memory as 4G or 512M, counts as 1e9."""

import math
import re
from collections.abc import Callable

import click

UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
AMOUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)


def memory_amount(text: str) -> int:
    """Return the bytes that 4G, 512M or 1.5GiB stand for; units are powers of 1,024."""
    found = AMOUNT.fullmatch(str(text).strip())
    amount = int(float(found[1]) * UNITS[found[2].lower()]) if found else 0
    if amount < 1:
        raise click.BadParameter(
            f"{text!r} is not an amount of memory; write it as 4G, 512M or 1.5GiB"
        )
    return amount


def count_from(least: int) -> Callable[[str], int]:
    """Return what reads a whole number, also one like 1e9, from ``least`` on."""

    def count(text: str) -> int:
        try:
            number = float(str(text).replace(",", ""))
        except ValueError:
            number = math.nan
        if not math.isfinite(number) or not number.is_integer() or number < least:
            raise click.BadParameter(
                f"{text!r} is not a whole number from {least} on; write it as 1000000 or 1e6"
            )
        return int(number)

    return count
