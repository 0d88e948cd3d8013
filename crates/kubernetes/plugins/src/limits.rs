//! Checks usage against a LimitRange item, and sums up a pod's usage. Guarantees kube-apiserver's messages, in the
//! order of resource names. Must never read anything but requests and limits.

use pintle_schema::{Quantity, View};
use pintle_types::core::v1::{
    Container, ContainerRestartPolicy, LimitRangeItem, PodSpec, ResourceList, ResourceRequirements,
};

/// Requests and limits.
#[derive(Clone, Debug, Default)]
pub struct Usage {
    pub requests: ResourceList,
    pub limits: ResourceList,
}

impl Usage {
    pub fn of(resources: View<'_, ResourceRequirements>) -> Usage {
        Usage {
            requests: resources.field(ResourceRequirements::REQUESTS).get(),
            limits: resources.field(ResourceRequirements::LIMITS).get(),
        }
    }

    fn add(&mut self, other: &Usage) {
        merge(&mut self.requests, &other.requests, Quantity::add);
        merge(&mut self.limits, &other.limits, Quantity::add);
    }

    fn raise_to(&mut self, other: &Usage) {
        merge(&mut self.requests, &other.requests, |own, other| own.max(other).clone());
        merge(&mut self.limits, &other.limits, |own, other| own.max(other).clone());
    }
}

fn merge(own: &mut ResourceList, other: &ResourceList, join: impl Fn(&Quantity, &Quantity) -> Quantity) {
    for (name, quantity) in other {
        let joined = own.get(name).map_or_else(|| quantity.clone(), |own| join(own, quantity));
        own.insert(name.clone(), joined);
    }
}

/// The usage of a pod: the sum of its containers, or the maximum during initialization.
pub fn of_pod(spec: View<'_, PodSpec>) -> Usage {
    let mut total = Usage::default();
    for container in spec.field(PodSpec::CONTAINERS).iter() {
        total.add(&Usage::of(container.field(Container::RESOURCES)));
    }
    // Restartable init containers run concurrently with all later containers.
    let (mut beside, mut start) = (Usage::default(), Usage::default());
    for container in spec.field(PodSpec::INIT_CONTAINERS).iter() {
        let own = Usage::of(container.field(Container::RESOURCES));
        if container.field(Container::RESTART_POLICY).get() == Some(ContainerRestartPolicy::ALWAYS) {
            total.add(&own);
            beside.add(&own);
            start.raise_to(&beside);
        } else {
            let mut moment = beside.clone();
            moment.add(&own);
            start.raise_to(&moment);
        }
    }
    total.raise_to(&start);
    // Pod-level resources take precedence.
    let whole = Usage::of(View::new(spec.field(PodSpec::RESOURCES).value()));
    total.requests.extend(whole.requests);
    total.limits.extend(whole.limits);
    total
}

/// The violations of one LimitRange, without duplicates.
#[derive(Debug, Default)]
pub struct Violations(Vec<String>);

impl Violations {
    /// All messages as one; `None` without violations.
    pub fn into_text(self) -> Option<String> {
        match self.0.as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            several => Some(format!("[{}]", several.join(", "))),
        }
    }

    fn add(&mut self, text: String) {
        if !self.0.contains(&text) {
            self.0.push(text);
        }
    }

    /// Checks usage against all limits of an item.
    pub fn check(&mut self, item: &LimitRangeItem, usage: &Usage) {
        let what = item.r#type.as_str();
        for (name, min) in &item.min {
            let (request, limit) = (usage.requests.get(name), usage.limits.get(name));
            self.minimum(what, name, min, request, limit);
        }
        for (name, max) in &item.max {
            let (request, limit) = (usage.requests.get(name), usage.limits.get(name));
            let head = format!("maximum {name} usage per {what} is {max}");
            match (request, limit) {
                (_, None) => self.add(format!("{head}.  No limit is specified")),
                (_, Some(limit)) if limit > max => self.add(format!("{head}, but limit is {limit}")),
                (Some(request), _) if request > max => self.add(format!("{head}, but request is {request}")),
                _ => {}
            }
        }
        for (name, ratio) in &item.max_limit_request_ratio {
            self.ratio(what, name, ratio, usage);
        }
    }

    /// Checks requests of objects that have no limits.
    pub fn check_requests(&mut self, item: &LimitRangeItem, requests: &ResourceList) {
        let what = item.r#type.as_str();
        for (name, min) in &item.min {
            self.minimum(what, name, min, requests.get(name), None);
        }
        for (name, max) in &item.max {
            let head = format!("maximum {name} usage per {what} is {max}");
            match requests.get(name) {
                None => self.add(format!("{head}.  No request is specified")),
                Some(request) if request > max => self.add(format!("{head}, but request is {request}")),
                Some(_) => {}
            }
        }
    }

    fn minimum(
        &mut self,
        what: &str,
        name: &str,
        min: &Quantity,
        request: Option<&Quantity>,
        limit: Option<&Quantity>,
    ) {
        let head = format!("minimum {name} usage per {what} is {min}");
        match (request, limit) {
            (None, _) => self.add(format!("{head}.  No request is specified")),
            (Some(request), _) if request < min => self.add(format!("{head}, but request is {request}")),
            (_, Some(limit)) if limit < min => self.add(format!("{head}, but limit is {limit}")),
            _ => {}
        }
    }

    fn ratio(&mut self, what: &str, name: &str, most: &Quantity, usage: &Usage) {
        let head = format!("{name} max limit to request ratio per {what} is {most}, but");
        let given = |list: &ResourceList| list.get(name).filter(|quantity| !quantity.is_zero()).map(Quantity::to_f64);
        match (given(&usage.requests), given(&usage.limits)) {
            (None, _) => self.add(format!("{head} no request is specified or request is 0")),
            (_, None) => self.add(format!("{head} no limit is specified or limit is 0")),
            (Some(request), Some(limit)) if limit / request > most.to_f64() => {
                self.add(format!("{head} provided ratio is {:.6}", limit / request));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::{Value, value};

    #[test]
    fn sums_of_pods() {
        let container = |cpu: &str| value!({"name": "c", "resources": {"requests": {"cpu": cpu}}});
        let sidecar = |cpu: &str| {
            let mut sidecar = container(cpu);
            sidecar.set_at(&["restartPolicy"], "Always");
            sidecar
        };
        let rows: [(Value, &str); 5] = [
            (value!({"containers": [(container("1")), (container("500m"))]}), "1500m"),
            (value!({"containers": [(container("1"))], "initContainers": [(container("2"))]}), "2"),
            (value!({"containers": [(container("1"))], "initContainers": [(sidecar("1")), (container("2"))]}), "3"),
            (value!({"containers": [(container("1"))], "initContainers": [(container("2")), (sidecar("1"))]}), "2"),
            (value!({"containers": [(container("1"))], "resources": {"requests": {"cpu": "4"}}}), "4"),
        ];
        for (spec, expected) in rows {
            let usage = of_pod(View::new(&spec));
            assert_eq!(usage.requests.get("cpu").map(Quantity::as_str), Some(expected));
        }
    }

    #[test]
    fn missing_values_are_breaches() {
        let list =
            |quantity: &str| -> ResourceList { [("cpu".to_owned(), quantity.parse().expect("a quantity"))].into() };
        let item = LimitRangeItem {
            r#type: "Pod".into(),
            min: list("1"),
            max: list("2"),
            max_limit_request_ratio: list("1500m"),
            ..LimitRangeItem::default()
        };
        let rows: [(Usage, &[&str]); 3] = [
            (
                Usage::default(),
                &[
                    "minimum cpu usage per Pod is 1.  No request is specified",
                    "maximum cpu usage per Pod is 2.  No limit is specified",
                    "cpu max limit to request ratio per Pod is 1500m, but no request is specified or request is 0",
                ],
            ),
            (
                Usage { requests: list("1"), limits: ResourceList::new() },
                &[
                    "maximum cpu usage per Pod is 2.  No limit is specified",
                    "cpu max limit to request ratio per Pod is 1500m, but no limit is specified or limit is 0",
                ],
            ),
            (
                Usage { requests: list("1"), limits: list("2") },
                &["cpu max limit to request ratio per Pod is 1500m, but provided ratio is 2.000000"],
            ),
        ];
        for (usage, expected) in rows {
            let mut violations = Violations::default();
            violations.check(&item, &usage);
            assert_eq!(violations.0, expected);
        }
    }
}
