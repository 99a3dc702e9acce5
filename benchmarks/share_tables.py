"""Real tables with domains declared from what their columns mean, for the benchmark of the share kept.

Bounds are round numbers that the documentation of a column allows (an age is below 100, a percentage below 100, hours of
the day end at 24), levels are the documented codes; none was computed from the file. Columns that leak the target, record
numbers, survey weights and free text are left out.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import hullabaloo as hb

DATA = Path(os.environ.get("HULLABALOO_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


@dataclass(frozen=True, slots=True)
class Declared:
    """A table of `DATA`, the domain of its columns, and how it is read."""

    file: str
    features: dict[str, Any]
    target: dict[str, Any]
    prepare: Callable[[pa.Table], pa.Table] | None = None

    @property
    def is_classification(self) -> bool:
        """Whether the target is a class."""
        return not isinstance(next(iter(self.target.values())), tuple)

    def domain(self, records: int) -> hb.Domain:
        """The declaration for a nominal number of records; no column is missing, so none has an indicator."""
        kind = {"classes": self.target} if self.is_classification else {"target": self.target}
        return hb.Domain(features=self.features, indicators=False, records=records, **kind)

    def read(self) -> pa.Table:
        """The declared columns of the file."""
        path = DATA / self.file
        table = pq.read_table(path) if path.suffix == ".parquet" else _sparse_table(path)
        if self.prepare is not None:
            table = self.prepare(table)
        return table.select([*self.features, *self.target])


def _sparse_table(path: Path) -> pa.Table:
    from scipy import sparse

    X, y = sparse.load_npz(path).toarray(), np.load(path)["y"]
    return pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])} | {"y": y})


def _each(names: Iterable[str], bounds: Any) -> dict[str, Any]:
    return dict.fromkeys(names, bounds)


def _words(text: str) -> list[str]:
    return text.split()


MONTHS = _words("jan feb mar apr may jun jul aug sep oct nov dec")
OFF_ON = [0, 1]


_COMMUNITIES = _words(
    "population householdsize racepctblack racePctWhite racePctAsian racePctHisp agePct12t21 agePct12t29 agePct16t24 "
    "agePct65up numbUrban pctUrban medIncome pctWWage pctWFarmSelf pctWInvInc pctWSocSec pctWPubAsst pctWRetire "
    "medFamInc perCapInc NumUnderPov PctPopUnderPov PctLess9thGrade PctNotHSGrad PctBSorMore PctUnemployed PctEmploy "
    "PctOccupManu PctOccupMgmtProf MalePctDivorce FemalePctDiv TotalPctDiv PersPerFam PctFam2Par PctKids2Par "
    "PctYoungKids2Par PctTeen2Par NumIlleg PctIlleg NumImmig PctLargHouseFam PersPerOccupHous PctPersOwnOccup "
    "PctPersDenseHous PctHousLess3BR HousVacant PctHousOccup PctHousOwnOcc PctVacantBoarded MedYrHousBuilt "
    "PctHousNoPhone PctWOFullPlumb RentMedian MedRent NumInShelters NumStreet PctForeignBorn PctBornSameState "
    "PctSameHouse85 LandArea PopDens PctUsePubTrans"
)

_BANK_JOBS = _words(
    "admin. blue-collar entrepreneur housemaid management retired self-employed services student technician unemployed "
    "unknown"
)

_ADULT = {
    "age": (17, 90),
    "education-num": (1, 16),
    "capital-gain": (0, 100_000),
    "capital-loss": (0, 5_000),
    "hours-per-week": (0, 99),
    "workclass": _words(
        "? Federal-gov Local-gov Never-worked Private Self-emp-inc Self-emp-not-inc State-gov Without-pay"
    ),
    "education": _words(
        "10th 11th 12th 1st-4th 5th-6th 7th-8th 9th Assoc-acdm Assoc-voc Bachelors Doctorate HS-grad Masters Preschool "
        "Prof-school Some-college"
    ),
    "marital-status": _words(
        "Divorced Married-AF-spouse Married-civ-spouse Married-spouse-absent Never-married Separated Widowed"
    ),
    "occupation": _words(
        "? Adm-clerical Armed-Forces Craft-repair Exec-managerial Farming-fishing Handlers-cleaners Machine-op-inspct "
        "Other-service Priv-house-serv Prof-specialty Protective-serv Sales Tech-support Transport-moving"
    ),
    "relationship": _words("Husband Not-in-family Other-relative Own-child Unmarried Wife"),
    "race": _words("Amer-Indian-Eskimo Asian-Pac-Islander Black Other White"),
    "sex": _words("Female Male"),
    "native-country": _words(
        "? Cambodia Canada China Columbia Cuba Dominican-Republic Ecuador El-Salvador England France Germany Greece "
        "Guatemala Haiti Holand-Netherlands Honduras Hong Hungary India Iran Ireland Italy Jamaica Japan Laos Mexico "
        "Nicaragua Outlying-US(Guam-USVI-etc) Peru Philippines Poland Portugal Puerto-Rico Scotland South Taiwan Thailand "
        "Trinadad&Tobago United-States Vietnam Yugoslavia"
    ),
}

_PUMS = {
    "AGEP": (0, 100),
    "SEX": [1, 2],
    "MSP": [1, 2, 3, 4, 5, 6],
    "HISP": [0, 1, 2, 3, 4],
    "RAC1P": list(range(1, 10)),
    "HOUSING_TYPE": [1, 2, 3],
    "OWN_RENT": [0, 1, 2],
    "EDU": (1, 12),
    "INDP_CAT": list(range(19)),
    "DREM": [1, 2],
    "DPHY": [1, 2],
    "DEYE": [1, 2],
    "DEAR": [1, 2],
}


def _pums(table: pa.Table) -> pa.Table:
    """People with an industry (working age); the class is an income above 50 000 dollars."""
    table = table.select([*_PUMS, "PINCP"]).drop_null()
    above = pa.array(np.asarray(table["PINCP"]) > 50_000).cast(pa.int8())
    return table.append_column("above", above)


def _flights(table: pa.Table) -> pa.Table:
    """Flights that landed; the hour of their departure."""
    table = table.select([*(set(_FLIGHTS) - {"hour"}), "DepTime", "AirTime"]).drop_null()
    clock = np.asarray(table["DepTime"], dtype=float)
    return table.append_column("hour", pa.array(clock // 100))


_FLIGHTS = {
    "Month": list(range(1, 13)),
    "DayOfWeek": list(range(1, 8)),
    "hour": (0, 24),
    "UniqueCarrier": _words("AA AS B6 CO DL EV F9 FL MQ OO UA US WN XE YV"),
    "Origin": ["HOU", "IAH"],
    "Distance": (0, 4000),
    "TaxiOut": (0, 60),
}

_KDD_RATES = _words(
    "serror_rate srv_serror_rate rerror_rate srv_rerror_rate same_srv_rate diff_srv_rate srv_diff_host_rate "
    "dst_host_same_srv_rate dst_host_diff_srv_rate dst_host_same_src_port_rate dst_host_srv_diff_host_rate "
    "dst_host_serror_rate dst_host_srv_serror_rate dst_host_rerror_rate dst_host_srv_rerror_rate"
)
_LONG = {"lo": 0, "transform": "log1p"}


def _kdd(table: pa.Table) -> pa.Table:
    """Each distinct connection once; normal or an attack."""
    import pandas as pd

    frame: pd.DataFrame = table.to_pandas().drop_duplicates()
    frame["attack"] = (frame["label"] != "normal").astype(int)
    return pa.Table.from_pandas(frame.drop(columns="label"), preserve_index=False)


_AIRCRAFT = {
    "climbRate": (-1000, 1000),
    "Sgz": (-100, 100),
    "p": (-2, 2),
    "q": (-1, 1),
    "curRoll": (-3.2, 3.2),
    "absRoll": (-30, 0),
    "diffClb": (-100, 100),
    "diffRollRate": (-0.1, 0.1),
    "diffDiffClb": (-20, 20),
}

_SPAM_WORDS = _words(
    "make address all 3d our over remove internet order mail receive will people report addresses free business email "
    "you credit your font 000 money hp hpl george 650 lab labs telnet 857 data 415 85 technology 1999 parts pm direct cs "
    "meeting original project re edu table conference"
)

REGRESSION = {
    "abalone": Declared(
        "abalone.parquet",
        {"Sex": ["M", "F", "I"], "Length": (0, 1), "Diameter": (0, 1), "Height": (0, 0.5), "Whole weight": (0, 3)}
        | {"Shucked weight": (0, 1.5), "Viscera weight": (0, 1), "Shell weight": (0, 1)},
        {"Rings": (0, 30)},
    ),
    "acs_income": Declared("acs_pums_national_2019.parquet", _PUMS, {"PINCP": (0, 200_000)}, _pums),
    "ailerons": Declared(
        "ailerons.parquet",
        {**_AIRCRAFT, "curPitch": (-3.2, 3.2), "alpha": (0, 3), "Se": (0, 0.1)}
        | _each([f"SeTime{j}" for j in range(1, 15)], (0, 0.1))
        | _each([f"diffSeTime{j}" for j in range(1, 15)], (-0.01, 0.01)),
        {"goal": (-0.004, 0)},
    ),
    "appliances": Declared(
        "appliances_energy.parquet",
        {"lights": (0, 70)}
        | _each([f"T{j}" for j in range(1, 10)], (0, 40))
        | _each([f"RH_{j}" for j in range(1, 10)], (0, 100))
        | {"T6": (-10, 40), "T_out": (-10, 40), "Tdewpoint": (-10, 30), "RH_out": (0, 100)}
        | {"Press_mm_hg": (720, 790), "Windspeed": (0, 20), "Visibility": (0, 70), "hour": list(range(24))},
        {"Appliances": (0, 1000)},
        lambda table: table.append_column("hour", pa.array((17 + np.arange(len(table)) // 6) % 24)),
    ),
    "bike": Declared(
        "bike_sharing_hour.parquet",
        {"season": [1, 2, 3, 4], "yr": OFF_ON, "mnth": list(range(1, 13)), "hr": list(range(24)), "holiday": OFF_ON}
        | {"weekday": list(range(7)), "workingday": OFF_ON, "weathersit": [1, 2, 3, 4]}
        | _each(["temp", "atemp", "hum", "windspeed"], (0, 1)),
        {"cnt": (0, 1000)},
    ),
    "california": Declared(
        "california_housing_ocean.parquet",
        {"longitude": (-125, -114), "latitude": (32, 42), "housing_median_age": (0, 60)}
        | {name: {**_LONG, "hi": 20_000} for name in ("total_rooms", "population")}
        | {name: {**_LONG, "hi": 5_000} for name in ("total_bedrooms", "households")}
        | {"median_income": (0, 15), "ocean_proximity": ["<1H OCEAN", "INLAND", "ISLAND", "NEAR BAY", "NEAR OCEAN"]},
        {"median_house_value": (0, 500_000)},
    ),
    "claims": Declared(
        "bemtpl97.parquet",
        {"expo": (0, 1), "coverage": ["TPL", "TPL+", "TPL++"], "ageph": (18, 100), "sex": ["male", "female"]}
        | {"bm": (0, 22), "power": (0, 250), "agec": (0, 50), "fuel": ["gasoline", "diesel"]}
        | {"use": ["private", "work"], "fleet": ["0", "1"], "long": (2, 7), "lat": (49, 52)},
        {"nclaims": (0, 5)},
    ),
    "communities": Declared("communities_crime.parquet", _each(_COMMUNITIES, (0, 1)), {"ViolentCrimesPerPop": (0, 1)}),
    "concrete": Declared(
        "concrete_strength.parquet",
        {"cement": (0, 600), "slag": (0, 400), "ash": (0, 250), "water": (100, 300), "splast": (0, 40)}
        | {"coarse": (700, 1200), "fine": (500, 1000), "age": {"lo": 1, "hi": 365, "transform": "log"}},
        {"strength": (0, 100)},
    ),
    "diamonds": Declared(
        "diamonds.parquet",
        {"carat": (0, 5), "cut": ["Fair", "Good", "Very Good", "Premium", "Ideal"], "color": list("DEFGHIJ")}
        | {"clarity": _words("I1 SI2 SI1 VS2 VS1 VVS2 VVS1 IF"), "depth": (50, 75), "table": (45, 80)}
        | {"x": (0, 12), "y": (0, 12), "z": (0, 8)},
        {"price": (0, 20_000)},
    ),
    "elevators": Declared(
        "elevators.parquet",
        {**_AIRCRAFT, "Sa": (-0.004, 0)}
        | _each([f"SaTime{j}" for j in range(1, 5)], (-0.004, 0))
        | _each([f"diffSaTime{j}" for j in range(1, 5)], (-0.001, 0.001)),
        {"Goal": (0, 0.1)},
    ),
    "flights": Declared("hflights_2011.parquet", _FLIGHTS, {"AirTime": (0, 600)}, _flights),
    "power_plant": Declared(
        "power_plant_ccpp.parquet",
        {"AT": (-10, 50), "V": (20, 90), "AP": (980, 1040), "RH": (0, 100)},
        {"PE": (400, 500)},
    ),
    "wine": Declared(
        "wine_quality.parquet",
        {"fixed acidity": (3, 16), "volatile acidity": (0, 2), "citric acid": (0, 1.5), "residual sugar": (0, 60)}
        | {"chlorides": (0, 0.5), "free sulfur dioxide": (0, 150), "total sulfur dioxide": (0, 400)}
        | {
            "density": (0.98, 1.04),
            "pH": (2.5, 4.5),
            "sulphates": (0, 2),
            "alcohol": (8, 15),
            "color": ["red", "white"],
        },
        {"quality": (0, 10)},
    ),
}

CLASSIFICATION = {
    "acs_above_50k": Declared("acs_pums_national_2019.parquet", _PUMS, {"above": [0, 1]}, _pums),
    "adult": Declared("adult.parquet", _ADULT, {"income": ["<=50K", ">50K"]}),
    "bank": Declared(
        "bank_marketing_full.parquet",
        {"age": (18, 95), "job": _BANK_JOBS, "marital": ["divorced", "married", "single"]}
        | {"education": ["primary", "secondary", "tertiary", "unknown"], "balance": (-10_000, 50_000)}
        | _each(["default", "housing", "loan"], ["no", "yes"])
        | {"contact": ["cellular", "telephone", "unknown"], "month": MONTHS, "campaign": (1, 30), "previous": (0, 20)}
        | {"poutcome": ["failure", "other", "success", "unknown"], "duration": (0, 2000)},
        {"y": ["no", "yes"]},
    ),
    "covertype": Declared(
        "covertype_2v4.parquet",
        {"Elevation": (1500, 4000), "Aspect": (0, 360), "Slope": (0, 90)}
        | {"Horizontal_Distance_To_Hydrology": (0, 1500), "Vertical_Distance_To_Hydrology": (-200, 600)}
        | _each(["Horizontal_Distance_To_Roadways", "Horizontal_Distance_To_Fire_Points"], (0, 7500))
        | _each(["Hillshade_9am", "Hillshade_Noon", "Hillshade_3pm"], (0, 255)),
        {"y": [0, 1]},
    ),
    "electricity": Declared(
        "electricity_elec2.parquet",
        {"day": list(range(1, 8))} | _each(_words("period nswprice nswdemand vicprice vicdemand transfer"), (0, 1)),
        {"class": [0, 1]},
    ),
    "intrusion": Declared(
        "kddcup99_10pct.parquet",
        {"duration": {**_LONG, "hi": 60_000}, "src_bytes": {**_LONG, "hi": 1e9}, "dst_bytes": {**_LONG, "hi": 1e9}}
        | {"protocol_type": ["icmp", "tcp", "udp"], "flag": _words("OTH REJ RSTO RSTOS0 RSTR S0 S1 S2 S3 SF SH")}
        | {"logged_in": OFF_ON, "count": (0, 511), "srv_count": (0, 511)}
        | _each(["dst_host_count", "dst_host_srv_count"], (0, 255))
        | _each(_KDD_RATES, (0, 1)),
        {"attack": [0, 1]},
        _kdd,
    ),
    "law_school": Declared(
        "law_school.parquet",
        {"decile1b": (1, 10), "decile3": (1, 10), "lsat": (10, 48), "ugpa": (0, 4), "zfygpa": (-4, 4), "zgpa": (-4, 4)}
        | {
            "fulltime": [1, 2],
            "fam_inc": (1, 5),
            "male": OFF_ON,
            "tier": list(range(1, 7)),
            "race": ["Non-White", "White"],
        },
        {"pass_bar": [0, 1]},
    ),
    "mushrooms": Declared("mushrooms_agaricus.npz", _each([f"x{j}" for j in range(126)], (0, 1)), {"y": [0, 1]}),
    "noaa": Declared(
        "noaa_weather.parquet",
        _each(_words("temperature dew_point max_temperature min_temperature"), (-30, 120))
        | {"sea_level_pressure": (950, 1070), "visibility": (0, 25)}
        | _each(["average_wind_speed", "max_sustained_wind_speed"], (0, 60)),
        {"rain": [0, 1]},
    ),
    "phishing": Declared("phishing_onehot.parquet", _each([f"x{j}" for j in range(46)], OFF_ON), {"target": [0, 1]}),
    "skin": Declared("skin_segmentation.parquet", _each(["R", "G", "B"], (0, 255)), {"class": [1, 2]}),
    "spambase": Declared(
        "spambase.parquet",
        {f"word_freq_{word}": {**_LONG, "hi": 10} for word in _SPAM_WORDS}
        | {f"char_freq_{sign}": {**_LONG, "hi": 10} for sign in ";([!$#"}
        | {f"capital_run_length_{kind}": {"lo": 1, "hi": 10_000, "transform": "log"} for kind in ("average", "longest")}
        | {"capital_run_length_total": {"lo": 1, "hi": 20_000, "transform": "log"}},
        {"class": [0, 1]},
    ),
}
TABLES = REGRESSION | CLASSIFICATION
