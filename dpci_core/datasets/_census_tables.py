"""The numbers behind the simulated census: cumulative shares, level shares, correlations and true
coefficients.

Shares are rounded public figures of Adult's complete training rows; correlations are this project's
own choice.
"""

from __future__ import annotations

Table = tuple[tuple[int, float], ...]
"""(value, share of people at or below it), from just below the smallest value; uniform integers
between entries.
"""

MALE_SHARE = 0.6757

CUMULATIVE: dict[str, Table] = {
    "age": (
        (16, 0.0), (19, 0.0454), (22, 0.1092), (25, 0.1879), (28, 0.2656), (31, 0.3464),
        (34, 0.428), (37, 0.5112), (40, 0.5888), (43, 0.6635), (46, 0.7338), (49, 0.7922),
        (52, 0.8453), (55, 0.886), (60, 0.9401), (65, 0.9722), (70, 0.9873), (79, 0.997), (90, 1.0),
    ),
    "education_num": (
        (0, 0.0), (1, 0.0015), (2, 0.0065), (3, 0.016), (4, 0.0345), (5, 0.0496), (6, 0.0768),
        (7, 0.1115), (8, 0.124), (9, 0.4503), (10, 0.6717), (11, 0.715), (12, 0.7484),
        (13, 0.9157), (14, 0.9696), (15, 0.9876), (16, 1.0),
    ),
    "capital_gain": (
        (-1, 0.0), (0, 0.9159), (2000, 0.9199), (3000, 0.9296), (3500, 0.9377), (5100, 0.9504),
        (7290, 0.9559), (7300, 0.9639), (7687, 0.9643), (7688, 0.9732), (10000, 0.9757),
        (15023, 0.9809), (15024, 0.992), (50000, 0.9951), (99998, 0.9951), (99999, 1.0),
    ),
    "capital_loss": (
        (-1, 0.0), (0, 0.9527), (1400, 0.9547), (1600, 0.9605), (1750, 0.9682), (1880, 0.9719),
        (1890, 0.977), (1901, 0.977), (1902, 0.9835), (1976, 0.9841), (1977, 0.9895),
        (2100, 0.9928), (2500, 0.9987), (4356, 1.0),
    ),
    "fnlwgt": (
        (13768, 0.0), (30000, 0.0176), (40000, 0.0513), (52000, 0.0744), (65000, 0.0985),
        (78000, 0.1215), (90000, 0.1467), (100000, 0.1743), (110000, 0.2155), (120000, 0.2609),
        (130000, 0.2983), (140000, 0.3304), (150000, 0.3679), (160000, 0.4057), (170000, 0.4528),
        (180000, 0.5065), (190000, 0.5636), (200000, 0.6195), (210000, 0.6647), (220000, 0.7002),
        (235000, 0.7429), (250000, 0.7801), (270000, 0.8169), (290000, 0.8511), (310000, 0.8773),
        (330000, 0.9016), (360000, 0.9356), (400000, 0.9613), (450000, 0.9802), (500000, 0.9886),
        (600000, 0.9957), (700000, 0.998), (1484705, 1.0),
    ),
}  # fmt: skip

HOURS: tuple[Table, Table] = (
    (
        (0, 0.0), (9, 0.016), (14, 0.0374), (19, 0.0744), (20, 0.1301), (24, 0.1474),
        (25, 0.179), (29, 0.187), (30, 0.2344), (34, 0.254), (35, 0.3141), (37, 0.3354),
        (39, 0.3643), (40, 0.8303), (44, 0.8474), (45, 0.8851), (49, 0.8997), (50, 0.9456),
        (54, 0.9506), (55, 0.9609), (59, 0.964), (60, 0.9841), (69, 0.9889), (70, 0.9928),
        (79, 0.9953), (80, 0.9973), (98, 0.9985), (99, 1.0),
    ),
    (
        (0, 0.0), (9, 0.0065), (14, 0.0166), (19, 0.0297), (20, 0.0547), (24, 0.0611),
        (25, 0.0741), (29, 0.0768), (30, 0.1026), (34, 0.1082), (35, 0.1374), (37, 0.1443),
        (39, 0.1546), (40, 0.6302), (44, 0.6515), (45, 0.7194), (49, 0.7443), (50, 0.8556),
        (54, 0.8634), (55, 0.8914), (59, 0.8967), (60, 0.956), (69, 0.9692), (70, 0.9809),
        (79, 0.9868), (80, 0.9917), (98, 0.9969), (99, 1.0),
    ),
)  # fmt: skip
"""Hours per week of women and of men."""

LEVELS: dict[str, tuple[str, ...]] = {
    "marital_status": (
        "Never-married", "Married-AF-spouse", "Separated", "Married-spouse-absent",
        "Married-civ-spouse", "Divorced", "Widowed",
    ),
    "occupation": (
        "Priv-house-serv", "Handlers-cleaners", "Other-service", "Machine-op-inspct",
        "Farming-fishing", "Transport-moving", "Craft-repair", "Armed-Forces", "Adm-clerical",
        "Protective-serv", "Sales", "Tech-support", "Exec-managerial", "Prof-specialty",
    ),
    "race": ("White", "Asian-Pac-Islander", "Other", "Amer-Indian-Eskimo", "Black"),
    "workclass": (
        "Private", "Without-pay", "Self-emp-not-inc", "Self-emp-inc", "Local-gov", "State-gov",
        "Federal-gov",
    ),
}  # fmt: skip
"""Levels along their hidden scale: marital status by age, occupation by schooling."""

SHARES: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "marital_status": (
        (0.4408, 0.0012, 0.0587, 0.0193, 0.1513, 0.2586, 0.0701),
        (0.2656, 0.0004, 0.0179, 0.0089, 0.6176, 0.0827, 0.0069),
    ),
    "occupation": (
        (
            0.0138, 0.0168, 0.1797, 0.0555, 0.0066, 0.0092, 0.0221, 0.0, 0.2568, 0.0078, 0.1276,
            0.0349, 0.1168, 0.1524,
        ),
        (
            0.0004, 0.0582, 0.0713, 0.0698, 0.0453, 0.0728, 0.1872, 0.0004, 0.0593, 0.0279,
            0.1146, 0.028, 0.1398, 0.125,
        ),
    ),
    "race": ((0.8598, 0.0297, 0.0077, 0.0095, 0.0933),) * 2,
    "workclass": ((0.7388, 0.0005, 0.0829, 0.0356, 0.0685, 0.0424, 0.0313),) * 2,
}  # fmt: skip
"""Shares of the levels among women and among men, in the order of `LEVELS`."""

LATENT = (
    "age", "education_num", "hours_per_week", "capital_gain", "capital_loss", "fnlwgt",
    "marital_status", "occupation", "race", "workclass",
)  # fmt: skip
"""Columns that share one Gaussian copula, in the order in which the draws are made."""

CORRELATIONS: dict[tuple[str, str], float] = {
    ("age", "education_num"): 0.08,
    ("age", "hours_per_week"): 0.15,
    ("age", "capital_gain"): 0.2,
    ("age", "capital_loss"): 0.1,
    ("age", "fnlwgt"): -0.08,
    ("age", "marital_status"): 0.65,
    ("age", "occupation"): 0.05,
    ("age", "workclass"): 0.2,
    ("education_num", "hours_per_week"): 0.17,
    ("education_num", "capital_gain"): 0.22,
    ("education_num", "capital_loss"): 0.12,
    ("education_num", "fnlwgt"): -0.04,
    ("education_num", "occupation"): 0.6,
    ("education_num", "race"): -0.1,
    ("education_num", "workclass"): 0.2,
    ("hours_per_week", "capital_gain"): 0.12,
    ("hours_per_week", "capital_loss"): 0.08,
    ("hours_per_week", "marital_status"): 0.12,
    ("hours_per_week", "occupation"): 0.12,
    ("hours_per_week", "workclass"): 0.05,
    ("capital_gain", "capital_loss"): -0.3,
    ("capital_gain", "marital_status"): 0.12,
    ("capital_gain", "occupation"): 0.15,
    ("fnlwgt", "race"): 0.1,
    ("marital_status", "occupation"): 0.05,
    ("marital_status", "race"): -0.05,
    ("marital_status", "workclass"): 0.1,
    ("occupation", "race"): -0.1,
    ("occupation", "workclass"): 0.15,
}
"""Correlations of the hidden normal scales; pairs that are not listed have none."""

INTERCEPT = -8.9
COEFFICIENTS: dict[str, float] = {
    "age": 0.027,
    "education_num": 0.29,
    "hours_per_week": 0.03,
    "capital_gain": 0.00032,
    "capital_loss": 0.00065,
    "fnlwgt": 7e-07,
    "sex=Male": 0.16,
    "marital_status=Married-civ-spouse": 2.7,
    "marital_status=Divorced": 0.5,
    "marital_status=Separated": 0.4,
    "marital_status=Widowed": 0.5,
    "marital_status=Married-spouse-absent": 0.5,
    "marital_status=Married-AF-spouse": 3.5,
    "occupation=Prof-specialty": 0.55,
    "occupation=Craft-repair": 0.0,
    "occupation=Exec-managerial": 0.8,
    "occupation=Sales": 0.25,
    "occupation=Other-service": -0.85,
    "occupation=Machine-op-inspct": -0.3,
    "occupation=Transport-moving": -0.15,
    "occupation=Handlers-cleaners": -0.75,
    "occupation=Farming-fishing": -1.1,
    "occupation=Tech-support": 0.6,
    "occupation=Protective-serv": 0.55,
    "occupation=Priv-house-serv": -4.4,
    "occupation=Armed-Forces": -1.2,
    "race=Black": -0.15,
    "race=Asian-Pac-Islander": -0.15,
    "race=Amer-Indian-Eskimo": -0.55,
    "race=Other": -0.75,
    "workclass=Self-emp-not-inc": -0.45,
    "workclass=Local-gov": -0.2,
    "workclass=State-gov": -0.3,
    "workclass=Self-emp-inc": 0.2,
    "workclass=Federal-gov": 0.5,
    "workclass=Without-pay": -6.0,
}
"""True coefficients of the logistic model of the target, in original units, per encoded feature of
`ADULT`.
"""
