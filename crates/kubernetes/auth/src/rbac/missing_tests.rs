//! Comparisons of rules: the same lines as if each part were compared by itself, and products that cannot be multiplied out.

use super::*;

/// The parts of a rule, each as a rule.
fn parts(rule: &PolicyRule) -> Vec<PolicyRule> {
    let one = |text: &Str| vec![text.clone()];
    let names: Vec<Vec<Str>> = match rule.resource_names.is_empty() {
        true => vec![Vec::new()],
        false => rule.resource_names.iter().map(one).collect(),
    };
    let mut parts = Vec::new();
    for verbs in rule.verbs.iter().map(one) {
        for (api_groups, resource) in
            rule.api_groups.iter().map(one).flat_map(|group| rule.resources.iter().map(move |r| (group.clone(), r)))
        {
            parts.extend(names.iter().map(|names| PolicyRule {
                verbs: verbs.clone(),
                api_groups: api_groups.clone(),
                resources: one(resource),
                resource_names: names.clone(),
                non_resource_urls: Vec::new(),
            }));
        }
        let paths = rule.non_resource_urls.iter();
        parts.extend(paths.map(|path| PolicyRule {
            verbs: verbs.clone(),
            non_resource_urls: one(path),
            ..PolicyRule::default()
        }));
    }
    parts
}

/// Whether a rule includes a part of another.
fn includes(held: &PolicyRule, part: &PolicyRule) -> bool {
    let all =
        |held: &[Str], part: &[Str]| held.iter().any(|own| own == "*") || part.iter().all(|one| held.contains(one));
    let resource = |resource: &Str| {
        let any = resource.split_once('/').map(|(_, subresource)| format!("*/{subresource}"));
        held.resources.iter().any(|own| own == "*" || own == resource || any.as_ref().is_some_and(|any| own == any))
    };
    all(&held.verbs, &part.verbs)
        && all(&held.api_groups, &part.api_groups)
        && part.resources.iter().all(resource)
        && (held.resource_names.is_empty()
            || !part.resource_names.is_empty()
                && part.resource_names.iter().all(|name| held.resource_names.contains(name)))
        && part.non_resource_urls.iter().all(|path| held.covers_path(path))
}

/// The lines of the missing parts, found one by one.
fn one_by_one(held: &[&PolicyRule], granted: &[PolicyRule]) -> Vec<String> {
    let is_missing = |part: &PolicyRule| !held.iter().any(|held| includes(held, part));
    let mut lines = BTreeSet::new();
    let mut simple: BTreeMap<Line, Vec<Str>> = BTreeMap::new();
    for part in granted.iter().flat_map(parts).filter(is_missing) {
        match (&part.api_groups[..], &part.resources[..]) {
            ([group], [resource]) => {
                let key = (group.clone(), resource.clone(), part.resource_names.first().cloned());
                simple.entry(key).or_default().extend(part.verbs);
            }
            _ => drop(lines.insert(shown(&[("NonResourceURLs", &part.non_resource_urls), ("Verbs", &part.verbs)]))),
        }
    }
    for ((group, resource, name), verbs) in simple {
        let names: Vec<Str> = name.into_iter().collect();
        let fields =
            [("APIGroups", &[group][..]), ("Resources", &[resource]), ("ResourceNames", &names), ("Verbs", &verbs)];
        lines.insert(shown(&fields));
    }
    lines.into_iter().collect()
}

/// Random numbers, the same ones each time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % bound
    }

    /// Up to three of some texts, perhaps one twice.
    fn some(&mut self, texts: &[&str]) -> Vec<Str> {
        (0..self.below(4)).map(|_| Str::from(texts[self.below(texts.len())])).collect()
    }

    fn rule(&mut self) -> PolicyRule {
        let names = ["a", "b", "c", "*", ""];
        PolicyRule {
            verbs: self.some(&["get", "list", "watch", "update", "*"]),
            api_groups: self.some(&["", "apps", "batch", "*"]),
            resources: self.some(&["pods", "pods/log", "nodes", "nodes/log", "pods/a/b", "*/log", "*/a/b", "*/", "*"]),
            resource_names: if self.below(2) == 0 { Vec::new() } else { self.some(&names) },
            non_resource_urls: self.some(&["/a", "/a/b", "/a/*", "/a*", "/b**", "/b", "*", ""]),
        }
    }

    fn rules(&mut self, most: usize) -> Vec<PolicyRule> {
        (0..self.below(most + 1)).map(|_| self.rule()).collect()
    }
}

#[test]
fn random_rules_miss_what_they_miss_one_by_one() {
    let mut random = Random(1);
    let mut complete = 0;
    for round in 0..5000 {
        let (held, granted) = (random.rules(6), random.rules(3));
        let held: Vec<&PolicyRule> = held.iter().collect();
        let expected = one_by_one(&held, &granted);
        assert_eq!(missing(&held, &granted).as_ref(), Ok(&expected), "{round}: {held:?} / {granted:?}");
        complete += usize::from(expected.is_empty() && granted.iter().any(|rule| !parts(rule).is_empty()));
    }
    assert!(complete > 100, "{complete} of the rules were held, so that inclusion is tested as well");
}

fn many(prefix: &str, numbers: std::ops::Range<u32>) -> Vec<Str> {
    numbers.map(|number| Str::from(format!("{prefix}{number}"))).collect()
}

/// 210 of each: two thousand million parts.
fn product(verbs: std::ops::Range<u32>) -> PolicyRule {
    PolicyRule {
        verbs: many("v", verbs),
        api_groups: many("g", 0..210),
        resources: many("r", 0..210),
        resource_names: many("n", 0..210),
        non_resource_urls: many("/p", 0..210),
    }
}

#[test]
fn a_product_is_not_multiplied_out() {
    let granted = [product(0..210)];
    let everything = |texts: &str| vec![Str::from(texts)];
    let one = PolicyRule {
        verbs: everything("v0"),
        api_groups: everything("g0"),
        resources: everything("r0"),
        ..PolicyRule::default()
    };
    for held in [&[][..], &[&one]] {
        let lines = missing(held, &granted).expect("few steps");
        let bytes: usize = lines.iter().map(String::len).sum();
        assert_eq!(lines.last().map(String::as_str), Some(AND_MORE));
        assert!((MAX_LISTED_BYTES / 4..2 * MAX_LISTED_BYTES).contains(&bytes), "{bytes}");
    }
    // Rules that complement each other hold it together.
    let [lower, upper, mut all] = [product(0..100), product(100..210), product(0..210)];
    all.non_resource_urls.clear();
    assert_eq!(missing(&[&lower, &one, &upper], &[all]).map(|lines| lines.len()), Ok(0));
    // All but one part on resources, and one on paths: of rules without names, which alone grant paths.
    let mut nameless = product(0..210);
    nameless.resource_names.clear();
    nameless.non_resource_urls.pop();
    let mut other = product(0..209);
    other.resources.push("more".into());
    let lines = missing(&[&nameless, &other], &[product(208..210)]).expect("few steps");
    assert_eq!(lines.len(), 2);
    assert_eq!(lines, [208, 209].map(|verb| format!("{{NonResourceURLs:[\"/p209\"], Verbs:[\"v{verb}\"]}}")));
}

#[test]
fn many_rules_are_looked_up_by_what_differs() {
    let named = |name: u32| PolicyRule {
        verbs: vec!["get".into(), "list".into()],
        api_groups: vec!["".into()],
        resources: vec!["secrets".into()],
        resource_names: vec![format!("s{name}").into()],
        ..PolicyRule::default()
    };
    let held: Vec<PolicyRule> = (0..10_000).map(named).collect();
    let held: Vec<&PolicyRule> = held.iter().collect();
    let granted: Vec<PolicyRule> = (1..10_001).map(named).collect();
    let expected = r#"{APIGroups:[""], Resources:["secrets"], ResourceNames:["s10000"], Verbs:["get" "list"]}"#;
    assert_eq!(missing(&held, &granted), Ok(vec![expected.to_owned()]));
}

#[test]
fn rules_that_take_too_many_steps_are_not_compared() {
    let mut random = Random(2);
    let mut half = |texts: Vec<Str>| texts.into_iter().filter(|_| random.below(2) == 0).collect::<Vec<_>>();
    let held: Vec<PolicyRule> = (0..500)
        .map(|_| {
            let PolicyRule { verbs, api_groups, resources, resource_names, .. } = product(0..210);
            let (verbs, api_groups) = (half(verbs), half(api_groups));
            let (resources, resource_names) = (half(resources), half(resource_names));
            PolicyRule { verbs, api_groups, resources, resource_names, ..PolicyRule::default() }
        })
        .collect();
    let held: Vec<&PolicyRule> = held.iter().collect();
    let mut granted = product(0..210);
    granted.non_resource_urls.clear();
    assert_eq!(missing(&held, &[granted]), Err(TooManyRules));
}
