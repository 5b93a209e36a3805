//! Points in time as people write them: RFC 3339, in UTC.

use crate::event::Timestamp;

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// `2026-11-30T18:44:00.123456Z`.
pub(crate) fn text(time: Timestamp) -> String {
    let (days, micros) = (time.as_micros().div_euclid(MICROS_PER_DAY), time.as_micros().rem_euclid(MICROS_PER_DAY));
    let (year, month, day) = civil(days);
    let seconds = micros / 1_000_000;
    let (hour, minute, second, fraction) = (seconds / 3_600, seconds / 60 % 60, seconds % 60, micros % 1_000_000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:06}Z")
}

/// Reads microseconds since 1970, or a date with or without a time: `2026-11-30`, `2026-11-30T18:44`,
/// `2026-11-30T18:44:00.5Z`. In UTC, whatever the reader's clock says.
pub(crate) fn of_text(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    if let Ok(micros) = text.parse() {
        return Some(Timestamp::from_micros(micros));
    }
    let (date, time) = text.split_once(['T', ' ']).unwrap_or((text, "00:00"));
    let mut parts = date.split('-');
    let (year, month, day) = (number(parts.next()?, 4)?, number(parts.next()?, 2)?, number(parts.next()?, 2)?);
    let (time, fraction) =
        time.strip_suffix('Z').unwrap_or(time).split_once('.').unwrap_or((time.trim_end_matches('Z'), "0"));
    let mut clock = time.split(':');
    let (hour, minute) = (number(clock.next()?, 2)?, number(clock.next()?, 2)?);
    let second = clock.next().map_or(Some(0), |second| number(second, 2))?;
    let rest = parts.next().is_some() || clock.next().is_some();
    if rest || !(1..=12).contains(&month) || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let days = days(year, month, day);
    if civil(days) != (year, month, day) || fraction.is_empty() || fraction.len() > 6 {
        return None;
    }
    let micros = number(&format!("{fraction:0<6}"), 6)?;
    let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second;
    Some(Timestamp::from_micros(seconds * 1_000_000 + micros))
}

/// Digits, exactly so many.
fn number(text: &str, digits: usize) -> Option<i64> {
    (text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

/// Year, month and day of a number of days since 1970, in the Gregorian calendar. Years begin in March here, so that the
/// day that is sometimes there comes last.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

/// The other way round.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// How long that is, in one figure: `3 d`, `12 min`, `1.4 s`.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 0.000_5 => "0 s".to_owned(),
        s if s < 1.0 => format!("{:.0} ms", s * 1_000.0),
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7_200.0 => format!("{:.0} min", s / 60.0),
        s if s < 172_800.0 => format!("{:.0} h", s / 3_600.0),
        s => format!("{:.0} d", s / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_days_are_known() {
        for (micros, expected) in [
            (0, "1970-01-01T00:00:00.000000Z"),
            (951_782_400_000_000, "2000-02-29T00:00:00.000000Z"),
            (4_107_542_399_999_999, "2100-02-28T23:59:59.999999Z"),
            (-1, "1969-12-31T23:59:59.999999Z"),
        ] {
            assert_eq!(text(Timestamp::from_micros(micros)), expected);
        }
        for wrong in
            ["", "-", "2026-13-01", "2026-02-30", "2026-1-1", "2026-01-01T25:00", "2026-01-01T00:00:00.1234567Z", "T"]
        {
            assert_eq!(of_text(wrong), None, "{wrong}");
        }
        assert_eq!(of_text("1970-01-02"), Some(Timestamp::from_micros(MICROS_PER_DAY)));
        assert_eq!(of_text("1970-01-01T00:01"), Some(Timestamp::from_micros(60_000_000)));
        assert_eq!(of_text("1970-01-01T00:00:01.5Z"), Some(Timestamp::from_micros(1_500_000)));
        assert_eq!(of_text("7"), Some(Timestamp::from_micros(7)));
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(micros in -62_000_000_000_000_000_i64..250_000_000_000_000_000) {
            let time = Timestamp::from_micros(micros);
            prop_assert_eq!(of_text(&text(time)), Some(time));
        }

        #[test]
        fn anything_may_be_asked(any in ".*") {
            let _ = of_text(&any);
        }

        #[test]
        fn every_time_has_a_text(micros: i64) {
            let _ = text(Timestamp::from_micros(micros));
        }
    }
}
