//! The supported flags: one row each, with its help text and the configuration field that its value sets.
//! Guarantees that a flag in the table changes the configuration, or that its help says why it has no effect.
//! Must never repeat a default of the configuration: the help text reads it there.

use super::config::Config;
use super::setting::Setting;
use super::{
    admission, audit, authentication, authorization, controllers, diagnostics, front_proxy, gate_effects, kubelet,
    network, process, reference, requests, runtime_config, servers, service_accounts, storage, surface, tls, values,
    version,
};
use std::fmt::Write;
use std::time::Duration;

/// A flag.
pub struct Flag {
    /// The name without dashes.
    pub name: &'static str,
    help: &'static str,
    act: Act,
    check: fn(&Config) -> Result<(), String>,
}

/// The effect of a flag's value.
enum Act {
    /// It is parsed into a field of the configuration, by the field's type.
    Setting(fn(&mut Config) -> &mut dyn Setting),
    /// It is passed to a function; the text describes the value in the help.
    Parse(&'static str, fn(&mut Config, &str) -> Result<(), String>),
    /// None: this is the only value that is supported.
    Fixed(&'static str),
}

impl Flag {
    /// A flag whose value is parsed into a field of the configuration.
    pub const fn new(name: &'static str, place: fn(&mut Config) -> &mut dyn Setting, help: &'static str) -> Flag {
        Flag { name, help, act: Act::Setting(place), check: |_| Ok(()) }
    }

    /// A flag that is parsed by a function. The help text must include its default.
    pub const fn read(
        name: &'static str,
        shape: &'static str,
        help: &'static str,
        read: fn(&mut Config, &str) -> Result<(), String>,
    ) -> Flag {
        Flag { name, help, act: Act::Parse(shape, read), check: |_| Ok(()) }
    }

    /// A flag that supports one value only.
    pub const fn only(name: &'static str, value: &'static str, help: &'static str) -> Flag {
        Flag { name, help, act: Act::Fixed(value), check: |_| Ok(()) }
    }

    /// Adds a check that runs after the value was set.
    pub const fn checked(mut self, check: fn(&Config) -> Result<(), String>) -> Flag {
        self.check = check;
        self
    }

    /// Parses a value and sets it.
    ///
    /// # Errors
    /// The value is invalid.
    pub fn set(&self, config: &mut Config, value: &str) -> Result<(), String> {
        match self.act {
            Act::Setting(place) => place(config).set(value)?,
            Act::Parse(_, read) => read(config, value)?,
            Act::Fixed(only) => {
                let is_it = match only.parse::<bool>() {
                    Ok(on) => values::boolean(value)? == on,
                    Err(_) => value.is_empty() || value == only,
                };
                must(is_it, &format!("can only be {only}"))?;
            }
        }
        (self.check)(config)
    }

    /// The current value, for `/flagz`; `given` are the values on the command line.
    pub fn shown(&self, config: &mut Config, given: Option<&[String]>) -> String {
        match (&self.act, given) {
            (Act::Setting(place), _) => place(config).shown(),
            (Act::Parse(..), Some(given)) => given.join(","),
            _ => self.value().1,
        }
    }

    /// The kind of its value, and its default.
    pub fn value(&self) -> (String, String) {
        match self.act {
            Act::Setting(place) => {
                let mut config = Config::default();
                let place = place(&mut config);
                (place.shape(), place.shown())
            }
            Act::Parse(shape, _) => (shape.to_owned(), String::new()),
            Act::Fixed(value) if value.parse::<bool>().is_ok() => (String::new(), value.to_owned()),
            Act::Fixed(value) => ("TEXT".to_owned(), value.to_owned()),
        }
    }

    /// Whether the flag may be given without a value.
    pub fn is_switch(&self) -> bool {
        self.value().0.is_empty()
    }
}

/// The text that `--help` prints.
pub fn help() -> String {
    let mut text = String::from(
        "A Kubernetes API server.\n\nUsage:\n  pintle [flags]        serve on the loopback interface\n  \
         pintle serve [flags]  serve on all interfaces, as kube-apiserver\n\nFlags:\n",
    );
    for flag in all() {
        let name = match flag.name {
            "v" => "-v, --v".to_owned(),
            name => format!("    --{name}"),
        };
        let (shape, default) = flag.value();
        let help = match &flag.act {
            Act::Fixed(value) => format!("{} Only {value} is supported.", flag.help),
            Act::Setting(_) if !default.is_empty() => format!("{} Default: {default}.", flag.help),
            _ => flag.help.to_owned(),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}\n          {help}", format!("  {name} {shape}").trim_end());
    }
    text.push_str("\nFlags of kube-apiserver that are not supported:\n");
    for name in reference::NOT_SUPPORTED {
        let _ = writeln!(text, "  --{name}\n          {}", reference::reason(name));
    }
    text.push_str(&gate_effects::help());
    text.push_str(
        "\nOther flags:\n  -h, --help\n          Print this text.\n      --version\n          Print the version.\n",
    );
    text
}

/// All supported flags, in the order of the help.
pub fn all() -> impl Iterator<Item = &'static Flag> {
    TABLES.iter().copied().flatten()
}

static TABLES: &[&[Flag]] = &[
    network::ADDRESS_FLAGS,
    storage::PLACE_FLAGS,
    tls::CERTIFICATE_FLAGS,
    authentication::CLIENT_FLAGS,
    authorization::MODE_FLAGS,
    network::SERVICE_FLAGS,
    service_accounts::SERVICE_ACCOUNT_FLAGS,
    runtime_config::API_FLAGS,
    requests::REQUEST_FLAGS,
    controllers::CONTROLLER_FLAGS,
    process::SHUTDOWN_FLAGS,
    tls::TLS_FLAGS,
    network::CONNECTION_FLAGS,
    kubelet::KUBELET_FLAGS,
    network::ENDPOINT_FLAGS,
    front_proxy::ROUTING_FLAGS,
    process::PROCESS_FLAGS,
    authentication::AUTHENTICATION_FLAGS,
    authorization::AUTHORIZATION_FLAGS,
    front_proxy::FRONT_PROXY_FLAGS,
    admission::ADMISSION_FLAGS,
    audit::AUDIT_FLAGS,
    audit::AUDIT_LOG_FLAGS,
    audit::AUDIT_WEBHOOK_FLAGS,
    diagnostics::DIAGNOSTICS_FLAGS,
    surface::SURFACE_FLAGS,
    storage::STORAGE_FLAGS,
    version::VERSION_FLAGS,
    servers::SERVER_FLAGS,
];

/// Succeeds if the condition holds; otherwise returns the message, which continues the flag's name.
pub fn must(condition: bool, otherwise: &str) -> Result<(), String> {
    if condition { Ok(()) } else { Err(otherwise.to_owned()) }
}

/// Accepts a value that has no effect, and adds a warning.
pub fn no_effect<T>(config: &mut Config, value: Result<T, String>, flag: &str, why: &str) -> Result<(), String> {
    value?;
    config.warnings.push(format!("{flag} has no effect: {why}"));
    Ok(())
}

/// Accepts a time that is not zero.
pub fn must_last(time: Duration) -> Result<(), String> {
    must(!time.is_zero(), "must be more than 0")
}
