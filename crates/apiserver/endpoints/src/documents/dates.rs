//! Dates as headers and pages show them. Guarantees Go's and `date`'s names of days and months. Must never depend on a time
//! zone: all dates are in UTC.

use pintle_schema::Time;
use std::time::{SystemTime, UNIX_EPOCH};

/// The day of the week and the month of a time.
pub(super) fn day_and_month(time: Time) -> (&'static str, &'static str) {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let day = usize::try_from(time.seconds.div_euclid(86_400).rem_euclid(7)).map_or("", |day| DAYS[day]);
    (day, MONTHS.get(time.civil().month as usize - 1).copied().unwrap_or_default())
}

/// In a year, as Go writes it.
pub(super) fn in_a_year() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let time = Time::from_seconds(i64::try_from(since.as_secs()).unwrap_or_default() + 365 * 86_400);
    let ((day, month), at) = (day_and_month(time), time.civil());
    format!("{day}, {:02} {month} {:04} {:02}:{:02}:{:02} UTC", at.day, at.year, at.hour, at.minute, at.second)
}
