//! `Setting`: a field of the configuration that a flag sets, whose type defines how a value is parsed and printed.
//! Guarantees that a printed value is parsed as the same value, so that the help can print defaults. Must never depend
//! on a flag, nor read a file: it only checks that files can be opened.

use super::authorization::AuthorizationMode;
use super::values::{self, ServiceRanges};
use crate::logs::{LogFormat, ModuleVerbosity};
use pintle_http::TlsVersion;
use std::net::IpAddr;
use std::ops::{Deref, RangeInclusive};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A field of the configuration that a flag sets.
pub trait Setting {
    /// The kind of the value, for the help; empty for a switch.
    fn shape(&self) -> String;
    /// Parses and sets a value.
    ///
    /// # Errors
    /// Half a sentence that can follow the flag's name.
    fn set(&mut self, text: &str) -> Result<(), String>;
    /// The current value; empty if there is none.
    fn shown(&self) -> String;
}

/// A type of flag values.
pub trait Word: Sized {
    const SHAPE: &'static str;
    /// # Errors
    /// Half a sentence that can follow the flag's name.
    fn read(text: &str) -> Result<Self, String>;
    fn write(&self) -> String;
}

/// A later value replaces an earlier one.
impl<T: Word> Setting for T {
    fn shape(&self) -> String {
        T::SHAPE.to_owned()
    }

    fn set(&mut self, text: &str) -> Result<(), String> {
        *self = T::read(text)?;
        Ok(())
    }

    fn shown(&self) -> String {
        self.write()
    }
}

/// An empty value means none, so that an unset variable in a script enables nothing. For switches and durations it is
/// an error, as in Go.
impl<T: Word> Setting for Option<T> {
    fn shape(&self) -> String {
        T::SHAPE.to_owned()
    }

    fn set(&mut self, text: &str) -> Result<(), String> {
        let may_be_none = !matches!(T::SHAPE, "" | "DURATION");
        *self = if text.is_empty() && may_be_none { None } else { Some(T::read(text)?) };
        Ok(())
    }

    fn shown(&self) -> String {
        self.as_ref().map(T::write).unwrap_or_default()
    }
}

/// Values separated by commas; a repeated flag adds to them.
impl<T: Word> Setting for Vec<T> {
    fn shape(&self) -> String {
        format!("{},...", T::SHAPE)
    }

    fn set(&mut self, text: &str) -> Result<(), String> {
        for item in values::items(text) {
            self.push(T::read(item)?);
        }
        Ok(())
    }

    fn shown(&self) -> String {
        self.iter().map(T::write).collect::<Vec<_>>().join(",")
    }
}

/// One value for each occurrence of a flag, since values may contain commas.
#[derive(Clone, Debug)]
pub struct Repeated<T>(pub Vec<T>);

impl<T> Default for Repeated<T> {
    fn default() -> Self {
        Repeated(Vec::new())
    }
}

impl<T: Word> Setting for Repeated<T> {
    fn shape(&self) -> String {
        T::SHAPE.to_owned()
    }

    fn set(&mut self, text: &str) -> Result<(), String> {
        self.0.push(T::read(text)?);
        Ok(())
    }

    fn shown(&self) -> String {
        self.0.shown()
    }
}

/// A file that existed and was readable when the flag was parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFile(PathBuf);

impl Deref for InputFile {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Word for InputFile {
    const SHAPE: &'static str = "FILE";

    fn read(text: &str) -> Result<Self, String> {
        let path = PathBuf::read(text)?;
        // Opening the file also checks permissions. A directory can be opened but is not a file.
        match std::fs::File::open(&path).and_then(|file| file.metadata()) {
            Ok(metadata) if metadata.is_dir() => Err("is a directory".to_owned()),
            Ok(_) => Ok(InputFile(path)),
            Err(error) => Err(error.to_string()),
        }
    }

    fn write(&self) -> String {
        self.0.write()
    }
}

/// The files of a certificate and its key, and the host names that select it; without any, the names in the
/// certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPair {
    pub certificate: InputFile,
    pub key: InputFile,
    pub names: Vec<String>,
}

impl Word for ModuleVerbosity {
    const SHAPE: &'static str = "PATTERN=N";

    fn read(text: &str) -> Result<Self, String> {
        ModuleVerbosity::parse(text)
    }

    fn write(&self) -> String {
        format!("{}={}", self.pattern, self.verbosity)
    }
}

impl Word for NamedPair {
    const SHAPE: &'static str = "FILE,FILE[:NAME,...]";

    fn read(text: &str) -> Result<Self, String> {
        let (files, names) = match text.split_once(':') {
            Some((_, names)) if names.trim().is_empty() => return Err("empty names list is not allowed".to_owned()),
            Some((files, names)) => (files, names.split(',').map(|name| name.trim().to_owned()).collect()),
            None => (text, Vec::new()),
        };
        match files.split(',').map(str::trim).collect::<Vec<_>>()[..] {
            [certificate, key] => {
                Ok(NamedPair { certificate: InputFile::read(certificate)?, key: InputFile::read(key)?, names })
            }
            _ => Err("expected comma separated certificate and key file paths".to_owned()),
        }
    }

    fn write(&self) -> String {
        let files = format!("{},{}", self.certificate.write(), self.key.write());
        if self.names.is_empty() { files } else { format!("{files}:{}", self.names.join(",")) }
    }
}

/// Implements `Word` by a parser and a printer.
macro_rules! words {
    ($($type:ty, $shape:literal, $read:expr, $write:expr;)*) => {$(
        impl Word for $type {
            const SHAPE: &'static str = $shape;

            fn read(text: &str) -> Result<Self, String> {
                let read: fn(&str) -> Result<Self, String> = $read;
                read(text)
            }

            fn write(&self) -> String {
                let write: fn(&Self) -> String = $write;
                write(self)
            }
        }
    )*};
}

words! {
    bool, "", values::boolean, bool::to_string;
    String, "TEXT", values::text, String::clone;
    PathBuf, "PATH", values::path, |path| path.display().to_string();
    IpAddr, "IP", values::ip, IpAddr::to_string;
    Duration, "DURATION", values::duration, values::duration_text;
    u16, "PORT", values::port, u16::to_string;
    u32, "N", |text| values::number(text, 0), u32::to_string;
    u64, "N", |text| values::number(text, 0).map(u64::from), u64::to_string;
    i64, "N", |text| text.parse().map_err(|_| "must be a whole number".to_owned()), i64::to_string;
    usize, "N", |text| values::number(text, 0).map(|number| number as usize), usize::to_string;
    f64, "SHARE", |text| text.parse().map_err(|_| "must be a number".to_owned()), f64::to_string;
    RangeInclusive<u16>, "FIRST-LAST", values::ports, |ports| format!("{}-{}", ports.start(), ports.end());
    ServiceRanges, "CIDR[,CIDR]", ServiceRanges::parse, ServiceRanges::to_string;
    AuthorizationMode, "MODE", AuthorizationMode::read, |mode| mode.name().to_owned();
    LogFormat, "FORMAT", log_format, |format| if *format == LogFormat::Text { "text" } else { "json" }.to_owned();
    TlsVersion, "VERSION", tls_version, |version| format!("VersionTLS1{}", if *version == TlsVersion::Tls12 { 2 } else { 3 });
}

fn log_format(text: &str) -> Result<LogFormat, String> {
    match text {
        "text" | "" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        _ => Err("must be text or json".to_owned()),
    }
}

fn tls_version(text: &str) -> Result<TlsVersion, String> {
    match text {
        // Earlier versions may be the least, although none of them is spoken.
        "" | "VersionTLS10" | "VersionTLS11" | "VersionTLS12" => Ok(TlsVersion::Tls12),
        "VersionTLS13" => Ok(TlsVersion::Tls13),
        _ => Err("must be VersionTLS12 or VersionTLS13".to_owned()),
    }
}
