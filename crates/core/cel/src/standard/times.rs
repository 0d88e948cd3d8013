//! Parts of moments and durations.

use crate::error::EvalError;
use crate::function::{Call, Function, Overload};
use crate::library::time::{self, Part};
use crate::types::Type;
use crate::value::Value;

pub(super) fn functions() -> Vec<Function> {
    let of_time = |name, id, id_in_zone, call: Call| {
        Function::new(
            name,
            vec![
                Overload::member(id, vec![Type::Timestamp], Type::Int, call),
                Overload::member(id_in_zone, vec![Type::Timestamp, Type::String], Type::Int, call),
            ],
        )
    };
    let also_of_duration = |mut function: Function, id, call: Call| {
        function.overloads.push(Overload::member(id, vec![Type::Duration], Type::Int, call));
        function
    };
    vec![
        of_time("getFullYear", "timestamp_to_year", "timestamp_to_year_with_tz", |args| part(Part::FullYear, args)),
        of_time("getMonth", "timestamp_to_month", "timestamp_to_month_with_tz", |args| part(Part::Month, args)),
        of_time("getDayOfYear", "timestamp_to_day_of_year", "timestamp_to_day_of_year_with_tz", |args| {
            part(Part::DayOfYear, args)
        }),
        of_time("getDayOfMonth", "timestamp_to_day_of_month", "timestamp_to_day_of_month_with_tz", |args| {
            part(Part::DayOfMonth, args)
        }),
        of_time("getDate", "timestamp_to_day_of_month_1_based", "timestamp_to_day_of_month_1_based_with_tz", |args| {
            part(Part::Date, args)
        }),
        of_time("getDayOfWeek", "timestamp_to_day_of_week", "timestamp_to_day_of_week_with_tz", |args| {
            part(Part::DayOfWeek, args)
        }),
        also_of_duration(
            of_time("getHours", "timestamp_to_hours", "timestamp_to_hours_with_tz", |args| part(Part::Hours, args)),
            "duration_to_hours",
            |args| whole(args, 3_600_000_000_000),
        ),
        also_of_duration(
            of_time("getMinutes", "timestamp_to_minutes", "timestamp_to_minutes_with_tz", |args| {
                part(Part::Minutes, args)
            }),
            "duration_to_minutes",
            |args| whole(args, 60_000_000_000),
        ),
        also_of_duration(
            of_time("getSeconds", "timestamp_to_seconds", "timestamp_to_seconds_tz", |args| part(Part::Seconds, args)),
            "duration_to_seconds",
            |args| whole(args, 1_000_000_000),
        ),
        also_of_duration(
            of_time("getMilliseconds", "timestamp_to_milliseconds", "timestamp_to_milliseconds_with_tz", |args| {
                part(Part::Milliseconds, args)
            }),
            "duration_to_milliseconds",
            |args| whole(args, 1_000_000),
        ),
    ]
}

fn part<'a>(which: Part, args: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let (moment, zone) = match args {
        [Value::Timestamp(moment)] => (moment, None),
        [Value::Timestamp(moment), Value::String(zone)] => (moment, Some(zone.as_str())),
        _ => return Err(EvalError::no_overload()),
    };
    time::part(which, moment.seconds, moment.nanos, zone).map(Value::Int).map_err(EvalError::new)
}

/// How many whole units a duration has.
fn whole<'a>(args: &[Value<'a>], unit_nanos: i64) -> Result<Value<'a>, EvalError> {
    match args {
        [Value::Duration(duration)] => Ok(Value::Int(duration.nanos / unit_nanos)),
        _ => Err(EvalError::no_overload()),
    }
}
