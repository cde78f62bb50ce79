"""Breakages of surveys: what a folder accepts, what a respondent sends again, differences, who may send."""

from __future__ import annotations

from mutant import Mutant, of

COLLECTED = "unit/survey/test_survey_folder.py"
DIFFERENCES = "unit/survey/test_differences.py"
RECEIVER = "unit/survey/test_receiver.py"
MUTANTS: list[Mutant] = [
    *of(
        "survey.survey_folder:SurveyFolder._count",
        COLLECTED,
        ("self.epsilon_sent(respondent) + cost_of(oracle) > self.survey.stated", "False"),
        ("question in before", "False"),
        ("not oracle._allowed(report.data, report.ids).all()", "False"),
    ),
    *of("survey.survey_folder:SurveyFolder._taken", COLLECTED, ("len(report) != 1", "False")),
    *of("survey.survey_folder:SurveyFolder._read", COLLECTED, ("file.truncate(self._place + whole)", "pass")),
    *of("survey.survey_folder:SurveyFolder.add_all", COLLECTED, ("self._forget()", "pass")),
    *of("survey.survey_folder:SurveyFolder.check_real", COLLECTED, ("self.truth is not None", "False")),
    *of(
        "survey.respondent:Respondent._sent",
        COLLECTED,
        ("name not in sent", "True"),
        ("self.sent + cost_of(oracle) > self.survey.stated", "False"),
    ),
    *of("survey.questionnaire:read_survey", COLLECTED, ("json.loads(survey.to_json()) == data", "True")),
    *of("survey.questionnaire:Survey.__post_init__", COLLECTED, ("stated < min(costs)", "False")),
    *of(
        "survey.differences:_added",
        DIFFERENCES,
        ("math.hypot(second - low_2, high_1 - first)", "math.hypot(second - low_2, first - low_1)"),
    ),
    *of(
        "survey.differences:_score_ends.score",
        DIFFERENCES,
        ("(2 * n - gained + lost) * change", "(2 * n + gained - lost) * change"),
    ),
    *of(
        "survey.differences:compare_paired", DIFFERENCES, ("2 * Fraction(pairs.oracle.epsilon)", "pairs.oracle.epsilon")
    ),
    *of("survey.receiver:Receiver._take", RECEIVER, ("len(body) > MOST_BYTES", "False")),
    *of(
        "survey.receiver:Receiver.reply",
        RECEIVER,
        ('self.hosts and headers.get("host", "").lower() not in self.hosts', "False"),
    ),
    *of(
        "survey.receiver:_Requests.do_POST",
        RECEIVER,
        ("not length.isascii() or not length.isdigit() or len(length) > 9", "False"),
    ),
]
