//! Command lines of servers that behave as an earlier release. Guarantees that what such a release lacks is refused by name.

use super::run;
use pintle_gates as gates;

#[test]
fn apis_and_gates_of_an_emulated_release() {
    let resource = "admissionregistration.k8s.io/v1/mutatingadmissionpolicies";
    let emulated = "pintle --emulated-version=1.35";
    let config = run("pintle --emulated-version=1.34 --feature-gates=WatchList=false").expect("valid");
    assert_eq!(config.runtime_config.version.compatibility_minor, 33);
    assert!(!config.feature_gates.is_on(&gates::WATCH_LIST) && !config.feature_gates.is_on(&gates::ENV_FILES));
    // Explicit items may name what is later only if a flag allows it.
    for (line, error) in [
        (
            format!("{emulated} --runtime-config={resource}=true"),
            "cannot enable resource admissionregistration.k8s.io/v1, Resource=mutatingadmissionpolicies in runtime-config \
             because it is introduced at 1.36 after the current version 1.35. \
             Consider setting --runtime-config-emulation-forward-compatible=true",
        ),
        (
            format!("{emulated} --feature-gates=GenericWorkload=true --runtime-config=scheduling.k8s.io/v1alpha2=true"),
            "cannot enable version scheduling.k8s.io/v1alpha2 in runtime-config because all the resources have been introduced \
             after the current version 1.35. Consider setting --runtime-config-emulation-forward-compatible=true",
        ),
        (
            "pintle --emulation-forward-compatible".to_owned(),
            "ServerRunOptions.EmulationForwardCompatible cannot be set to true if the emulation version is the same as the \
             binary version",
        ),
        (
            "pintle --feature-gates=AtomicFIFO=true --emulated-version=1.35".to_owned(),
            "invalid argument \"AtomicFIFO=true\" for \"--feature-gates\" flag: cannot set feature gate AtomicFIFO to true, \
             feature is PreAlpha at emulated version 1.35, min compatibility version 1.34",
        ),
    ] {
        assert_eq!(run(&line).expect_err(&line), error);
    }
    let serves = |line: &str, group: &str, version: &str, plural: &str| {
        let config = run(line).expect("valid");
        let group = pintle_groups::groups().iter().find(|known| known.name == group).expect("a group");
        let resource = pintle_groups::find(&group.name, version, plural).expect("a resource");
        config.runtime_config.serves(resource, Some(group), &config.feature_gates)
    };
    let policies =
        |line: &str, version| serves(line, "admissionregistration.k8s.io", version, "mutatingadmissionpolicies");
    assert!(policies("pintle", "v1") && !policies(emulated, "v1") && !policies(emulated, "v1beta1"));
    let named = format!("{emulated} --runtime-config-emulation-forward-compatible --runtime-config={resource}=true");
    assert!(policies(&named, "v1"));
    // A stable version follows a beta version that is on.
    let beta = "--runtime-config=admissionregistration.k8s.io/v1beta1=true";
    assert!(policies(&format!("{emulated} --emulation-forward-compatible {beta}"), "v1"));
    assert!(!policies(&format!("{emulated} --emulation-forward-compatible"), "v1"));
    assert!(!policies(&format!("{emulated} {beta}"), "v1"));
    // A version that a release has removed is not served, although an item names it.
    for plural in ["validatingadmissionpolicies", "validatingadmissionpolicybindings"] {
        let former = |line: &str| serves(line, "admissionregistration.k8s.io", "v1beta1", plural);
        assert!(former(&format!("pintle --emulated-version=1.33 {beta}")), "{plural}");
        for line in ["pintle --emulated-version=1.33".to_owned(), format!("pintle --emulated-version=1.34 {beta}")] {
            assert!(!former(&line), "{plural}: {line}");
        }
        let named = format!("pintle --runtime-config=admissionregistration.k8s.io/v1beta1/{plural}=true");
        assert!(!former(&named), "{plural}");
    }
    let warned = run(&format!("{emulated} --feature-gates=AllAlpha=true")).expect("valid").warnings;
    assert!(warned.iter().any(|warning| warning.contains("component has alpha features enabled")), "{warned:?}");
}
