//! `--feature-gates`: which gates a command line turns on or off. Guarantees that an unknown gate, a value that the
//! emulated release cannot have, and one that this server does not follow are refused. Must never decide a default.

use super::gate_effects::unfollowed;
use pintle_schema::gates::FeatureGates;
use pintle_schema::version::EffectiveVersion;

/// Parses the items of `--feature-gates`: `Name=true` in any order; the last value for a name counts.
///
/// # Errors
/// An item has no value, or its gate cannot have the value.
pub fn parse<'a>(items: impl IntoIterator<Item = &'a str>, version: EffectiveVersion) -> Result<FeatureGates, String> {
    let mut gates = pintle_gates::all();
    for item in items {
        let (name, value) =
            item.split_once('=').ok_or_else(|| format!("missing bool value for feature gate {item}"))?;
        let value = super::values::boolean(value)
            .map_err(|_| format!("invalid value of {name}={value}, it must be true or false"))?;
        // An item may name the component, of which this program has one.
        let name = name.strip_prefix("kube:").unwrap_or(name);
        let gate = gates.find(name).ok_or_else(|| format!("unrecognized feature gate: {name}"))?;
        gate.check(value, version).map_err(|error| error.to_string())?;
        if unfollowed(gate, value) {
            return Err(format!(
                "cannot set feature gate {name} to {value}, this server cannot be without what it does otherwise"
            ));
        }
        gates.set(gate, value);
    }
    Ok(gates)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_gates as gates;
    use pintle_schema::{Gate, GateSet};

    fn resolved(items: &[&str], version: EffectiveVersion) -> Result<GateSet, String> {
        let gates = parse(items.iter().copied(), version)?;
        gates.resolve(version).map_err(|error| error.to_string())
    }

    #[test]
    fn gates_of_earlier_releases() {
        let of = |minor, items: &[&str]| resolved(items, EffectiveVersion::emulating(minor));
        // Off until 1.33, on since; beta in 1.35; only since 1.36; alpha in 1.31.
        for (gate, expected) in [
            (&gates::SIZE_BASED_LIST_COST_ESTIMATE, [false, false, false, true, true, true]),
            (&gates::IMAGE_VOLUME, [false, false, false, false, true, true]),
            (&gates::DYNAMIC_RESOURCE_ALLOCATION, [false, false, false, true, true, true]),
            (&gates::COMPONENT_STATUSZ, [false, false, false, false, false, true]),
            (&gates::WATCH_LIST, [false, true, false, true, true, true]),
            (&gates::SERVICE_ACCOUNT_TOKEN_NODE_BINDING, [true, true, true, true, true, true]),
            (&gates::AUTHORIZE_WITH_SELECTORS, [false, true, true, true, true, true]),
        ] {
            let values = [31, 32, 33, 34, 35, 36].map(|minor| of(minor, &[]).expect("valid").is_on(gate));
            assert_eq!(values, expected, "{gate:?}");
        }
        // Locked since 1.36.
        assert!(!of(35, &["VolumeAttributesClass=false"]).expect("valid").is_on(&gates::VOLUME_ATTRIBUTES_CLASS));
        assert!(of(36, &["VolumeAttributesClass=false"]).is_err());
        let error = "cannot set feature gate AtomicFIFO to true, feature is PreAlpha at emulated version 1.35, \
                     min compatibility version 1.34";
        assert_eq!(of(35, &["AtomicFIFO=true"]), Err(error.to_owned()));
        assert!(!of(34, &["JobManagedBy=false"]).expect("valid").is_on(&gates::JOB_MANAGED_BY));
        // Free in that release, but this server has no way without it.
        let error =
            "cannot set feature gate SidecarContainers to false, this server cannot be without what it does otherwise";
        assert_eq!(of(32, &["SidecarContainers=false"]), Err(error.to_owned()));
        assert!(of(32, &["SidecarContainers=true", "ServiceAccountTokenNodeBinding=false"]).is_ok());
        // A feature that was alpha, and is turned on with all that were.
        let alpha = of(35, &["AllAlpha=true"]).expect("valid");
        assert!(alpha.is_on(&gates::COMPONENT_STATUSZ) && alpha.alpha().any(|gate| *gate == gates::COMPONENT_STATUSZ));
        assert!(!alpha.is_on(&gates::CRI_LIST_STREAMING));
    }

    #[test]
    fn settings() {
        /// Settings, and the gates that differ from their default, or the error.
        type Row = (&'static [&'static str], Result<&'static [(&'static Gate, bool)], &'static str>);
        let rows: &[Row] = &[
            (&[], Ok(&[])),
            (&["HPAScaleToZero=true"], Ok(&[(&gates::HPA_SCALE_TO_ZERO, true)])),
            (&["kube:HPAScaleToZero=t", "HPAScaleToZero=false"], Ok(&[])),
            (
                &["WatchList=false", "WatchListClient=False"],
                Ok(&[(&gates::WATCH_LIST, false), (&gates::WATCH_LIST_CLIENT, false)]),
            ),
            (&["APIServerTracing=true"], Ok(&[])),
            (
                &["APIServerTracing=false"],
                Err("cannot set feature gate APIServerTracing to false, feature is locked to true"),
            ),
            (&["ShardedListAndWatch=true"], Ok(&[(&gates::SHARDED_LIST_AND_WATCH, true)])),
            (&["ShardedListAndWatch=false"], Ok(&[])),
            (&["NoSuchGate=true"], Err("unrecognized feature gate: NoSuchGate")),
            (&["HPAScaleToZero"], Err("missing bool value for feature gate HPAScaleToZero")),
            (&["HPAScaleToZero=yes"], Err("invalid value of HPAScaleToZero=yes, it must be true or false")),
            (
                &["ClusterTrustBundleProjection=true"],
                Err(
                    "ClusterTrustBundleProjection is enabled, but depends on features that are disabled: [ClusterTrustBundle]",
                ),
            ),
        ];
        for (settings, expected) in rows {
            let changed = resolved(settings, EffectiveVersion::default()).map(|gates| gates.changed());
            assert_eq!(changed, expected.map(<[_]>::to_vec).map_err(str::to_owned), "{settings:?}");
        }
        let all = resolved(&["AllBeta=false", "WatchList=true"], EffectiveVersion::default());
        let all = all.expect("valid");
        assert!(all.is_on(&gates::WATCH_LIST) && !all.is_on(&gates::OPENAPI_ENUMS));
        let all = resolved(&["AllAlpha=true", "AllBeta=true"], EffectiveVersion::default());
        let all = all.expect("valid");
        assert!(all.is_on(&gates::HPA_SCALE_TO_ZERO) && all.is_on(&gates::SHARDED_LIST_AND_WATCH));
    }
}
