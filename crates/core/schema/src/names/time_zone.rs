//! Names of time zones.
//! Guarantees that a valid name is accepted: the zone database changes with its releases, so any name within a known
//! area is accepted.
//! Must never read the zone database.

use super::has_time_zone_form;

/// The areas of the database.
const AREAS: [&str; 16] = [
    "Africa",
    "America",
    "Antarctica",
    "Arctic",
    "Asia",
    "Atlantic",
    "Australia",
    "Brazil",
    "Canada",
    "Chile",
    "Etc",
    "Europe",
    "Indian",
    "Mexico",
    "Pacific",
    "US",
];

/// The zones without an area.
const ZONES: [&str; 45] = [
    "CET",
    "CST6CDT",
    "Cuba",
    "EET",
    "EST",
    "EST5EDT",
    "Egypt",
    "Eire",
    "Factory",
    "GB",
    "GB-Eire",
    "GMT",
    "GMT+0",
    "GMT-0",
    "GMT0",
    "Greenwich",
    "HST",
    "Hongkong",
    "Iceland",
    "Iran",
    "Israel",
    "Jamaica",
    "Japan",
    "Kwajalein",
    "Libya",
    "MET",
    "MST",
    "MST7MDT",
    "NZ",
    "NZ-CHAT",
    "Navajo",
    "PRC",
    "PST8PDT",
    "Poland",
    "Portugal",
    "ROC",
    "ROK",
    "Singapore",
    "Turkey",
    "UCT",
    "UTC",
    "Universal",
    "W-SU",
    "WET",
    "Zulu",
];

/// Whether the name may be that of a zone.
pub fn may_exist(name: &str) -> bool {
    has_time_zone_form(name)
        && match name.split_once('/') {
            None => ZONES.contains(&name),
            Some((area, place)) => AREAS.contains(&area) && !place.is_empty(),
        }
}

#[cfg(test)]
mod tests {
    use super::may_exist;

    #[test]
    fn zones() {
        for right in ["UTC", "Etc/GMT+1", "Europe/Berlin", "America/Argentina/Ushuaia"] {
            assert!(may_exist(right), "{right}");
        }
        for wrong in ["GMT+1", "Middle/Earth", "Europe/", "utc", "Europe/Ber lin"] {
            assert!(!may_exist(wrong), "{wrong}");
        }
    }
}
