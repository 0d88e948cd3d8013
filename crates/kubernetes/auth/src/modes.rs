//! The values of `--authorization-mode`.

use std::str::FromStr;

/// An authorizer that the flag can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// What kubelets may do.
    Node,
    /// Roles and bindings.
    Rbac,
    /// Policies from a file.
    Abac,
    /// Allows every request.
    AlwaysAllow,
    /// Allows no request.
    AlwaysDeny,
}

impl Mode {
    /// The modes by their names.
    pub const NAMES: [(&str, Mode); 5] = [
        ("ABAC", Mode::Abac),
        ("AlwaysAllow", Mode::AlwaysAllow),
        ("AlwaysDeny", Mode::AlwaysDeny),
        ("Node", Mode::Node),
        ("RBAC", Mode::Rbac),
    ];

    /// The name as the flag takes it.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Node => "Node",
            Mode::Rbac => "RBAC",
            Mode::Abac => "ABAC",
            Mode::AlwaysAllow => "AlwaysAllow",
            Mode::AlwaysDeny => "AlwaysDeny",
        }
    }
}

/// The text is not the name of a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown authorization mode")]
pub struct UnknownMode;

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Mode, UnknownMode> {
        let found = Mode::NAMES.iter().find(|(name, _)| *name == text);
        found.map(|(_, mode)| *mode).ok_or(UnknownMode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mode_names() {
        for (name, mode) in Mode::NAMES {
            assert_eq!((name.parse(), mode.name()), (Ok(mode), name));
        }
        for name in ["", "rbac", "abac", "Webhook"] {
            assert_eq!(name.parse::<Mode>(), Err(UnknownMode));
        }
    }
}
