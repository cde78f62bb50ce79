"""Surveys in which each person randomises before sending: questions, respondents, collection, estimates, a web page.

A survey is a folder. Each report protects its respondent's answers, so nothing here is charged to a ledger:
collecting keeps, for each random respondent, the epsilon that was sent, and refuses more than the survey states.
"""

from .differences import Difference, PairedCounts, ResponseCounts, compare, compare_paired, sample_size
from .questionnaire import Survey, SurveyQuestion, read_survey
from .receiver import Receiver, Reply
from .respondent import Respondent
from .simulated import simulate
from .survey_folder import SurveyFolder

__all__ = [
    "Difference",
    "PairedCounts",
    "Receiver",
    "Reply",
    "Respondent",
    "ResponseCounts",
    "Survey",
    "SurveyFolder",
    "SurveyQuestion",
    "compare",
    "compare_paired",
    "read_survey",
    "sample_size",
    "simulate",
]
