"""The Spark reading: a decision on columns is an expression of Spark's own, with no Python in it.

A comparison with null falls through to the `otherwise` of every choice, so rows with a null in a column that a
decision reads are set aside first (`quarantine`); no decision ever sees one.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

from spec.algebra import Algebra, Term, register


def literal(constant: Term) -> Column:
    """A Python constant as a column; an integer gets the 64 bits that every integer column has."""
    if isinstance(constant, int) and not isinstance(constant, bool):
        return F.lit(int(constant)).cast("bigint")
    return constant if isinstance(constant, Column) else F.lit(constant)


def _choice(fact: Column, then: Term, otherwise: Term) -> Column:
    return F.when(fact, literal(then)).otherwise(literal(otherwise))


register(
    Column,
    Algebra(
        conjunction=lambda left, right: left & right,
        disjunction=lambda left, right: left | right,
        negation=lambda fact: ~fact,
        choice=_choice,
    ),
)
