"""What the demo asks. To show one thing more, add a question: the demo asks them in order and shows what comes back."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from .hospital import DECLARED_GROUPS, DECLARED_ROWS, OFTEN, REGULARS


@dataclass(frozen=True)
class Question:
    """What is asked, what it shows and what it may cost; nothing, where the question itself says how wide it may be.

    `truth` gives the same columns as `sql` without any privacy, where there is an answer; `most` is how many of its
    rows are printed, and `pictured` whether it goes into the picture. `at_most` is the most that a width may cost,
    where that depends on the data.
    """

    shows: str
    sql: str
    epsilon: Fraction | None
    truth: str = ""
    remark: str = ""
    most: int | None = None
    pictured: bool = False
    at_most: Fraction | None = None


QUESTIONS = (
    Question(
        "A patient counts, not a visit",
        "SELECT COUNT(DISTINCT patient_id) AS patients, COUNT(*) AS visits FROM visits",
        Fraction(1, 4),
        "SELECT COUNT(DISTINCT patient_id), COUNT(*) FROM visits",
        f"{REGULARS} patients came {OFTEN} times each. They count as if they had come "
        f"{DECLARED_GROUPS * DECLARED_ROWS} times, which was declared to be typical, or their presence would show. "
        "The bars cover the noise, and not what is left out so.",
    ),
    Question(
        "Averages by group",
        "SELECT ward, COUNT(*) AS visits, AVG(cost) AS cost FROM visits GROUP BY ward ORDER BY ward",
        Fraction(1, 2),
        "SELECT ward, COUNT(*), AVG(least(cost, 3000)) FROM visits GROUP BY ward",
    ),
    Question(
        "Medians",
        "SELECT ward, MEDIAN(cost) AS cost FROM visits GROUP BY ward ORDER BY ward",
        Fraction(1, 4),
        "SELECT ward, MEDIAN(cost) FROM visits GROUP BY ward",
    ),
    Question(
        "Two tables, joined by whose rows they are",
        "SELECT region, AVG(cost) AS cost FROM visits JOIN patients USING (patient_id) GROUP BY region ORDER BY region",
        Fraction(1, 4),
        "SELECT region, AVG(least(cost, 3000)) FROM visits JOIN patients USING (patient_id) GROUP BY region",
    ),
    Question(
        "How wide an answer may be, instead of what it may cost",
        "SELECT COUNT(DISTINCT patient_id) AS elderly FROM visits WHERE age >= 65 WITHIN 50 CONFIDENCE 0.99",
        None,
        "SELECT COUNT(DISTINCT patient_id) FROM visits WHERE age >= 65",
        "The least epsilon that keeps the answer within 50, 99 times of 100, from public facts alone.",
    ),
    Question(
        "The same for averages: rounds, each twice as dear as the last, until they are narrow enough",
        "SELECT ward, AVG(age) AS age FROM visits GROUP BY ward ORDER BY ward WITHIN 1%",
        None,
        "SELECT ward, AVG(age) FROM visits GROUP BY ward",
        at_most=Fraction(1, 2),
    ),
    Question(
        "Groups that were not declared",
        "SELECT drug, COUNT(DISTINCT patient_id) AS patients FROM prescriptions GROUP BY drug ORDER BY patients DESC",
        Fraction(1, 2),
        "SELECT drug, COUNT(DISTINCT patient_id) FROM prescriptions GROUP BY drug",
        "A drug that only a few take could point at one of them, so it does not show.",
    ),
    Question(
        "A year of flu, day by day",
        "SELECT day, COUNT(*) AS flu FROM visits WHERE diagnosis = 'flu' GROUP BY day ORDER BY day",
        Fraction(1, 2),
        "SELECT day, COUNT(*) FROM visits WHERE diagnosis = 'flu' GROUP BY day",
        most=4,
        pictured=True,
    ),
    Question(
        "The same numbers in other words are free",
        "SELECT ward, AVG(cost) * COUNT(*) AS total FROM visits GROUP BY ward HAVING COUNT(*) > 80000 ORDER BY ward",
        Fraction(1, 2),
        "SELECT ward, SUM(least(cost, 3000)) FROM visits GROUP BY ward HAVING COUNT(*) > 80000",
    ),
    Question("What would expose people is refused", "SELECT * FROM visits", Fraction(1, 10)),
    Question("A budget that is gone is gone", "SELECT AVG(age) AS age FROM visits", Fraction(3)),
)
