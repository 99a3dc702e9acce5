"""The survey of the demo: readers of the magazine Redbook, 1974, one record each, and what its questionnaire allowed.

Source: Fair, Ray C. 1978. "A Theory of Extramarital Affairs", Journal of Political Economy 86, 45–61; the copy that
ships with statsmodels (`statsmodels.datasets.fair`, public, included there with the author's permission).
"""

from typing import Any

DATASET = "redbook-1974"
EPSILON, DELTA = 1.0, 1e-6
TARGET = "affair"
FEATURES = (
    "rate_marriage",
    "age",
    "yrs_married",
    "children",
    "religious",
    "educ",
    "occupation",
    "occupation_husb",
)

# How each feature is called in the report.
LABELS = {
    "rate_marriage": "her rating of the marriage (1 very poor … 5 very good)",
    "age": "age (under 20 … 40 or over)",
    "yrs_married": "years married (under 1 … the longest)",
    "children": "children (0 … 5 or more)",
    "religious": "religiousness (1 not … 4 strongly)",
    "educ": "education (grade school … advanced degree)",
    "occupation": "occupation (1 student … 6 professional)",
    "occupation_husb": "husband's occupation (1 … 6)",
}

DOMAIN = """\
# The domain of the 1974 Redbook survey: what the questionnaire let people answer, and nothing read from the answers.
# Codes as documented by statsmodels (statsmodels.datasets.fair.NOTE) and in Fair (1978), where the answers were intervals.

# Was there an affair (1) or not (0)? A linear probability model predicts this number.
target = { affair = [0, 1] }

# Missing answers count as the middle of the scale; a column of its own for "missing" would cost noise.
indicators = false

[features]
rate_marriage = [1, 5]      # 1 very poor … 5 very good
age = [17.5, 42]            # 17.5 under 20 … 42 forty or over
yrs_married = [0.5, 23]     # 0.5 less than a year … 23 the longest interval
children = [0, 5.5]         # 0 none … 5.5 five or more
religious = [1, 4]          # 1 not … 4 strongly
educ = [9, 20]              # 9 grade school, 12 high school, 16 college, 20 advanced degree

# Occupations by rising code: 1 student; 2 farming, semi-skilled, unskilled; 3 white-collar; 4 teacher, nurse, artist,
# technician, skilled; 5 managerial, business; 6 professional with advanced degree. As Fair did, the code is taken as a scale.
# To have a coefficient for each kind of job instead (ten columns more to learn, each with noise of its own):
#   occupation = { levels = [1, 2, 3, 4, 5, 6], baseline = 3 }
occupation = [1, 6]
occupation_husb = [1, 6]
"""


def load() -> Any:
    """The survey as a pandas dataframe: the eight features, and whether there was an affair."""
    from statsmodels.datasets import fair

    raw = fair.load_pandas().data
    survey = raw[list(FEATURES)].copy()
    survey[TARGET] = (raw["affairs"] > 0).astype(int)
    return survey
