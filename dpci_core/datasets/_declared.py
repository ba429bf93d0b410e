"""Declared columns of the named public sets: documented ranges rounded outward, documented levels.

The order is this project's: informative numbers first, so that "the first 10 features" is a
sensible small design. Which columns enter, and how, is this project's choice too; the published
table does not say.
"""

from __future__ import annotations

from dpci_core.schema import CategoricalColumn, NumericColumn, Schema


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


ADULT = Schema(
    features=(
        NumericColumn("age", 17, 90, step=10, units="years"),
        NumericColumn("education_num", 1, 16, step=2, units="years"),
        NumericColumn("hours_per_week", 1, 99, step=10, units="hours"),
        NumericColumn("capital_gain", 0, 100_000, step=1_000, units="$"),
        NumericColumn("capital_loss", 0, 4_500, step=500, units="$"),
        NumericColumn("fnlwgt", 10_000, 1_500_000),
        CategoricalColumn("sex", ("Female", "Male")),
        CategoricalColumn(
            "marital_status",
            _words(
                "Never-married Married-civ-spouse Divorced Separated Widowed "
                "Married-spouse-absent Married-AF-spouse"
            ),
        ),
        CategoricalColumn(
            "occupation",
            _words(
                "Adm-clerical Prof-specialty Craft-repair Exec-managerial Sales "
                "Other-service Machine-op-inspct Transport-moving Handlers-cleaners "
                "Farming-fishing Tech-support Protective-serv Priv-house-serv Armed-Forces"
            ),
        ),
        CategoricalColumn(
            "race", ("White", "Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other")
        ),
        CategoricalColumn(
            "workclass",
            _words(
                "Private Self-emp-not-inc Local-gov State-gov Self-emp-inc Federal-gov Without-pay"
            ),
        ),
    ),
    target="income",
    positive=">50K",
    negative=("<=50K",),
)
"""Adult without education (education_num stays), relationship and native_country: 36 features, full
rank.
"""

BANK = Schema(
    features=(
        NumericColumn("duration", 0, 5_000),
        NumericColumn("age", 18, 100),
        NumericColumn("balance", -10_000, 110_000),
        NumericColumn("campaign", 1, 65),
        NumericColumn("pdays", -1, 900),
        NumericColumn("previous", 0, 300),
        NumericColumn("contacted", 0, 1),
        NumericColumn("day", 1, 31),
        NumericColumn("month", 1, 12),
        CategoricalColumn("housing", ("no", "yes")),
        CategoricalColumn("loan", ("no", "yes")),
        CategoricalColumn("contact", ("cellular", "telephone", "unknown")),
        CategoricalColumn("poutcome", ("unknown", "failure", "success", "other")),
        CategoricalColumn("marital", ("married", "single", "divorced")),
        CategoricalColumn("education", ("secondary", "primary", "tertiary", "unknown")),
        CategoricalColumn("default", ("no", "yes")),
        CategoricalColumn(
            "job",
            _words(
                "blue-collar management technician admin. services retired self-employed "
                "entrepreneur unemployed housemaid student unknown"
            ),
        ),
    ),
    target="y",
    positive="yes",
    negative=("no",),
)
"""Bank Marketing with the month as a number and a flag `contacted` (pdays is not -1): 33 features,
full rank.
"""

KDD_COLUMNS = _words(
    "duration protocol_type service flag src_bytes dst_bytes land wrong_fragment urgent hot "
    "num_failed_logins logged_in num_compromised root_shell su_attempted num_root "
    "num_file_creations num_shells num_access_files num_outbound_cmds is_host_login is_guest_login "
    "count srv_count serror_rate srv_serror_rate rerror_rate srv_rerror_rate same_srv_rate "
    "diff_srv_rate srv_diff_host_rate dst_host_count dst_host_srv_count dst_host_same_srv_rate "
    "dst_host_diff_srv_rate dst_host_same_src_port_rate dst_host_srv_diff_host_rate "
    "dst_host_serror_rate dst_host_srv_serror_rate dst_host_rerror_rate dst_host_srv_rerror_rate"
)
"""The 41 columns of KDD Cup 1999 in the order of the file."""

_SERVICES = _words(
    "ecr_i private http smtp other domain_u ftp_data eco_i ftp finger urp_i telnet ntp_u auth "
    "pop_3 time csnet_ns remote_job gopher imap4 discard domain iso_tsap systat shell echo rje "
    "whois sql_net printer nntp courier sunrpc netbios_ssn mtp vmnet uucp_path uucp klogin bgp ssh "
    "supdup nnsp login hostnames efs daytime link netbios_ns pop_2 ldap netbios_dgm exec http_443 "
    "kshell name ctf netstat Z39_50 IRC urh_i X11 tim_i pm_dump tftp_u red_i"
)
_FIRST = _words(
    "logged_in count srv_count serror_rate rerror_rate same_srv_rate diff_srv_rate dst_host_count "
    "dst_host_srv_count dst_host_same_src_port_rate"
)
_HIGH = {
    "duration": 60_000,
    "src_bytes": 700_000_000,
    "dst_bytes": 5_500_000,
    "wrong_fragment": 3,
    "urgent": 3,
    "hot": 30,
    "num_failed_logins": 5,
    "num_compromised": 900,
    "su_attempted": 2,
    "num_root": 1_000,
    "num_file_creations": 30,
    "num_shells": 2,
    "num_access_files": 8,
    "count": 511,
    "srv_count": 511,
    "dst_host_count": 255,
    "dst_host_srv_count": 255,
}
"""Upper ends of the columns that are neither flags nor rates; those end at 1. All start at 0."""
_KDD_LEVELS = (
    CategoricalColumn("protocol_type", ("icmp", "tcp", "udp"), has_reference=False),
    CategoricalColumn(
        "flag",
        ("SF", "S0", "REJ", "RSTR", "RSTO", "SH", "S1", "S2", "RSTOS0", "S3", "OTH"),
        has_reference=False,
    ),
    CategoricalColumn("service", _SERVICES, other="other", has_reference=False),
)
_KDD_NUMERIC = _FIRST + tuple(
    name for name in KDD_COLUMNS if name not in {*_FIRST, "protocol_type", "flag", "service"}
)

KDD99 = Schema(
    features=(*(NumericColumn(name, 0, _HIGH.get(name, 1)) for name in _KDD_NUMERIC), *_KDD_LEVELS),
    target="label",
    positive="attack",
    negative=("normal",),
)
"""KDD Cup 1999, 10 % file: full one-hot (every level has its feature), so 118 features that are
collinear.
"""

BREAST_CANCER = Schema(
    features=(
        NumericColumn("mean radius", 6, 29),
        NumericColumn("mean texture", 9, 40),
        NumericColumn("mean perimeter", 40, 190),
        NumericColumn("mean area", 100, 2_600),
        NumericColumn("mean smoothness", 0.05, 0.17),
        NumericColumn("mean compactness", 0, 0.35),
        NumericColumn("mean concavity", 0, 0.45),
        NumericColumn("mean concave points", 0, 0.25),
        NumericColumn("mean symmetry", 0.1, 0.31),
        NumericColumn("mean fractal dimension", 0.04, 0.1),
        NumericColumn("radius error", 0.1, 2.9),
        NumericColumn("texture error", 0.3, 4.9),
        NumericColumn("perimeter error", 0, 22),
        NumericColumn("area error", 0, 550),
        NumericColumn("smoothness error", 0, 0.035),
        NumericColumn("compactness error", 0, 0.14),
        NumericColumn("concavity error", 0, 0.4),
        NumericColumn("concave points error", 0, 0.06),
        NumericColumn("symmetry error", 0, 0.08),
        NumericColumn("fractal dimension error", 0, 0.03),
        NumericColumn("worst radius", 7, 37),
        NumericColumn("worst texture", 12, 50),
        NumericColumn("worst perimeter", 50, 260),
        NumericColumn("worst area", 100, 4_300),
        NumericColumn("worst smoothness", 0.07, 0.23),
        NumericColumn("worst compactness", 0, 1.1),
        NumericColumn("worst concavity", 0, 1.3),
        NumericColumn("worst concave points", 0, 0.3),
        NumericColumn("worst symmetry", 0.15, 0.67),
        NumericColumn("worst fractal dimension", 0.05, 0.21),
    ),
    target="diagnosis",
    positive="malignant",
    negative=("benign",),
)
"""Wisconsin breast cancer, as scikit-learn carries it."""
