"""
Countries: ISO 3166-1 codes, English names, and the country of a time zone.
"""

from __future__ import annotations

import functools
from importlib.resources import files
from typing import NamedTuple

from traveltime_lab.errors import InputError


class Country(NamedTuple):
    """A country: its two codes and its English name."""

    alpha_2: str
    alpha_3: str
    name: str


#: Codes are those of ISO 3166-1; names follow iso3166.tab of the tz database (public domain).
_TABLE = """
AD AND Andorra; AE ARE United Arab Emirates; AF AFG Afghanistan; AG ATG Antigua and Barbuda; AI AIA Anguilla;
AL ALB Albania; AM ARM Armenia; AO AGO Angola; AQ ATA Antarctica; AR ARG Argentina; AS ASM American Samoa;
AT AUT Austria; AU AUS Australia; AW ABW Aruba; AX ALA Åland Islands; AZ AZE Azerbaijan;
BA BIH Bosnia and Herzegovina; BB BRB Barbados; BD BGD Bangladesh; BE BEL Belgium; BF BFA Burkina Faso;
BG BGR Bulgaria; BH BHR Bahrain; BI BDI Burundi; BJ BEN Benin; BL BLM Saint Barthélemy; BM BMU Bermuda;
BN BRN Brunei; BO BOL Bolivia; BQ BES Caribbean NL; BR BRA Brazil; BS BHS Bahamas; BT BTN Bhutan;
BV BVT Bouvet Island; BW BWA Botswana; BY BLR Belarus; BZ BLZ Belize; CA CAN Canada;
CC CCK Cocos (Keeling) Islands; CD COD DR Congo; CF CAF Central African Rep.; CG COG Republic of the Congo;
CH CHE Switzerland; CI CIV Côte d'Ivoire; CK COK Cook Islands; CL CHL Chile; CM CMR Cameroon; CN CHN China;
CO COL Colombia; CR CRI Costa Rica; CU CUB Cuba; CV CPV Cape Verde; CW CUW Curaçao; CX CXR Christmas Island;
CY CYP Cyprus; CZ CZE Czechia; DE DEU Germany; DJ DJI Djibouti; DK DNK Denmark; DM DMA Dominica;
DO DOM Dominican Republic; DZ DZA Algeria; EC ECU Ecuador; EE EST Estonia; EG EGY Egypt; EH ESH Western Sahara;
ER ERI Eritrea; ES ESP Spain; ET ETH Ethiopia; FI FIN Finland; FJ FJI Fiji; FK FLK Falkland Islands;
FM FSM Micronesia; FO FRO Faroe Islands; FR FRA France; GA GAB Gabon; GB GBR United Kingdom; GD GRD Grenada;
GE GEO Georgia; GF GUF French Guiana; GG GGY Guernsey; GH GHA Ghana; GI GIB Gibraltar; GL GRL Greenland;
GM GMB Gambia; GN GIN Guinea; GP GLP Guadeloupe; GQ GNQ Equatorial Guinea; GR GRC Greece;
GS SGS South Georgia and the South Sandwich Islands; GT GTM Guatemala; GU GUM Guam; GW GNB Guinea-Bissau;
GY GUY Guyana; HK HKG Hong Kong; HM HMD Heard Island and McDonald Islands; HN HND Honduras; HR HRV Croatia;
HT HTI Haiti; HU HUN Hungary; ID IDN Indonesia; IE IRL Ireland; IL ISR Israel; IM IMN Isle of Man;
IN IND India; IO IOT British Indian Ocean Territory; IQ IRQ Iraq; IR IRN Iran; IS ISL Iceland; IT ITA Italy;
JE JEY Jersey; JM JAM Jamaica; JO JOR Jordan; JP JPN Japan; KE KEN Kenya; KG KGZ Kyrgyzstan; KH KHM Cambodia;
KI KIR Kiribati; KM COM Comoros; KN KNA Saint Kitts and Nevis; KP PRK North Korea; KR KOR South Korea;
KW KWT Kuwait; KY CYM Cayman Islands; KZ KAZ Kazakhstan; LA LAO Laos; LB LBN Lebanon; LC LCA Saint Lucia;
LI LIE Liechtenstein; LK LKA Sri Lanka; LR LBR Liberia; LS LSO Lesotho; LT LTU Lithuania; LU LUX Luxembourg;
LV LVA Latvia; LY LBY Libya; MA MAR Morocco; MC MCO Monaco; MD MDA Moldova; ME MNE Montenegro;
MF MAF Saint Martin; MG MDG Madagascar; MH MHL Marshall Islands; MK MKD North Macedonia; ML MLI Mali;
MM MMR Myanmar; MN MNG Mongolia; MO MAC Macau; MP MNP Northern Mariana Islands; MQ MTQ Martinique;
MR MRT Mauritania; MS MSR Montserrat; MT MLT Malta; MU MUS Mauritius; MV MDV Maldives; MW MWI Malawi;
MX MEX Mexico; MY MYS Malaysia; MZ MOZ Mozambique; NA NAM Namibia; NC NCL New Caledonia; NE NER Niger;
NF NFK Norfolk Island; NG NGA Nigeria; NI NIC Nicaragua; NL NLD Netherlands; NO NOR Norway; NP NPL Nepal;
NR NRU Nauru; NU NIU Niue; NZ NZL New Zealand; OM OMN Oman; PA PAN Panama; PE PER Peru;
PF PYF French Polynesia; PG PNG Papua New Guinea; PH PHL Philippines; PK PAK Pakistan; PL POL Poland;
PM SPM Saint Pierre and Miquelon; PN PCN Pitcairn; PR PRI Puerto Rico; PS PSE Palestine; PT PRT Portugal;
PW PLW Palau; PY PRY Paraguay; QA QAT Qatar; RE REU Réunion; RO ROU Romania; RS SRB Serbia; RU RUS Russia;
RW RWA Rwanda; SA SAU Saudi Arabia; SB SLB Solomon Islands; SC SYC Seychelles; SD SDN Sudan; SE SWE Sweden;
SG SGP Singapore; SH SHN Saint Helena; SI SVN Slovenia; SJ SJM Svalbard and Jan Mayen; SK SVK Slovakia;
SL SLE Sierra Leone; SM SMR San Marino; SN SEN Senegal; SO SOM Somalia; SR SUR Suriname; SS SSD South Sudan;
ST STP Sao Tome and Principe; SV SLV El Salvador; SX SXM Sint Maarten; SY SYR Syria; SZ SWZ Eswatini;
TC TCA Turks and Caicos Is; TD TCD Chad; TF ATF French S. Terr.; TG TGO Togo; TH THA Thailand;
TJ TJK Tajikistan; TK TKL Tokelau; TL TLS East Timor; TM TKM Turkmenistan; TN TUN Tunisia; TO TON Tonga;
TR TUR Turkey; TT TTO Trinidad and Tobago; TV TUV Tuvalu; TW TWN Taiwan; TZ TZA Tanzania; UA UKR Ukraine;
UG UGA Uganda; UM UMI US minor outlying islands; US USA United States; UY URY Uruguay; UZ UZB Uzbekistan;
VA VAT Vatican City; VC VCT Saint Vincent; VE VEN Venezuela; VG VGB British Virgin Islands;
VI VIR US Virgin Islands; VN VNM Vietnam; VU VUT Vanuatu; WF WLF Wallis and Futuna; WS WSM Samoa; YE YEM Yemen;
YT MYT Mayotte; ZA ZAF South Africa; ZM ZMB Zambia; ZW ZWE Zimbabwe
"""

COUNTRIES: tuple[Country, ...] = tuple(
    Country(*row.strip().split(" ", 2)) for row in _TABLE.replace("\n", " ").split(";")
)
_BY_CODE = {code: country for country in COUNTRIES for code in (country.alpha_2, country.alpha_3)}


def country_of(code: str) -> Country | None:
    """Return the country of an ISO 3166-1 alpha-2 or alpha-3 code in any case, None for an unknown one."""
    return _BY_CODE.get(code.strip().upper())


def countries_of(codes: object, name: str) -> frozenset[str]:
    """
    Return the alpha-2 codes that a list of codes, or a text with commas between them, means.

    Raises
    ------
    InputError
        If a code is unknown or there is none.
    """
    given = codes.split(",") if isinstance(codes, str) else codes
    if not isinstance(given, list | tuple | set | frozenset) or not given:
        msg = f"{name} must be country codes such as 'GB' or ['GBR', 'FR']; got {codes!r}"
        raise InputError(msg)
    found = set()
    for code in given:
        country = country_of(code) if isinstance(code, str) else None
        if country is None:
            msg = f"{name} has {code!r}, which is no ISO 3166-1 alpha-2 or alpha-3 code of a country"
            raise InputError(msg)
        found.add(country.alpha_2)
    return frozenset(found)


def country_of_timezone(timezone: str) -> Country | None:
    """Return the country that the tz database gives for a zone, None for zones without one such as ``UTC``."""
    code = _zones().get(timezone)
    return None if code is None else country_of(code)


@functools.cache
def _zones() -> dict[str, str]:
    """Return the country code of each zone in zone.tab."""
    text = files("tzdata").joinpath("zoneinfo", "zone.tab").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines() if not line.startswith("#"))
    return {row[2]: row[0] for row in rows}
