//! Rules of compute resources: names, amounts, requests against limits, and claims on devices.

use super::{containers, text};
use crate::core::rules::resource_names;
use crate::core::rules::volume::persistent::is_whole;
use pintle_schema::{Quantity, Value, View};
use pintle_types::core::v1::{
    Container, PodOS, PodResourceClaim, PodSpec, ResourceClaim, ResourceList, ResourceRequirements,
};
use pintle_validation::{At, ErrorKind, FieldPath, ValidationContext};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

const HUGE_PAGES: &str = "hugepages-";

fn is_huge_page(name: &str) -> bool {
    name.starts_with(HUGE_PAGES)
}

pub fn may_overcommit(name: &str) -> bool {
    resource_names::is_native(name) && !is_huge_page(name)
}

fn amount(value: &Value) -> Quantity {
    View::<Quantity>::new(value).get()
}

/// Whether a resource can be asked for.
#[derive(Clone, Copy)]
enum Asker {
    Container,
    Pod,
}

/// Resources of one container.
pub fn of_container(resources: At<'_, ResourceRequirements>, cx: &mut ValidationContext<'_>) {
    requirements(Asker::Container, resources.new, resources.path, cx);
}

/// Resources of the pod as a whole.
pub fn of_pod(resources: At<'_, Option<ResourceRequirements>>, cx: &mut ValidationContext<'_>) {
    if let Some(resources) = resources.some() {
        requirements(Asker::Pod, resources.new, resources.path, cx);
    }
}

/// The overhead of a pod is validated as limits.
pub fn overhead(overhead: At<'_, ResourceList>, cx: &mut ValidationContext<'_>) {
    let path = overhead.path.to(ResourceRequirements::LIMITS);
    amounts(Asker::Container, overhead.new, &path, cx);
}

fn requirements(
    asker: Asker,
    resources: View<'_, ResourceRequirements>,
    path: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
) {
    let limits = resources.field(ResourceRequirements::LIMITS);
    let requests = resources.field(ResourceRequirements::REQUESTS);
    amounts(asker, limits, &path.to(ResourceRequirements::LIMITS), cx);
    let requests_path = path.to(ResourceRequirements::REQUESTS);
    for (name, value) in entries(requests) {
        let here = requests_path.key(name);
        resource(asker, name, value, &here, cx);
        match limits.value().get(name) {
            Some(limit) if limit == value => {}
            Some(limit) => {
                let (limit, wanted) = (amount(limit), amount(value));
                let demand = if !may_overcommit(name) && wanted != limit {
                    "equal to"
                } else if wanted > limit {
                    "less than or equal to"
                } else {
                    ""
                };
                if !demand.is_empty() {
                    let detail = format!("must be {demand} {name} limit of {limit}");
                    cx.errors.invalid(requests_path, value.clone(), detail);
                }
            }
            None if !may_overcommit(name) => {
                let detail = "Limit must be set for non overcommitable resources";
                cx.errors.required(path.to(ResourceRequirements::LIMITS), detail);
            }
            None => {}
        }
        huge_pages(name, value, &here, cx);
    }
    let names = || entries(limits).chain(entries(requests)).map(|(name, _)| name);
    if names().any(is_huge_page) && !names().any(|name| matches!(name, "cpu" | "memory")) {
        cx.errors.forbidden(path, "HugePages require cpu or memory");
    }
}

fn entries<'a>(list: View<'a, ResourceList>) -> impl Iterator<Item = (&'a str, &'a Value)> {
    list.value().as_map().into_iter().flat_map(|map| map.iter()).map(|(name, value)| (&**name, value))
}

fn amounts(asker: Asker, list: View<'_, ResourceList>, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    for (name, value) in entries(list) {
        let path = path.key(name);
        resource(asker, name, value, &path, cx);
        huge_pages(name, value, &path, cx);
    }
}

fn resource(asker: Asker, name: &str, value: &Value, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    match asker {
        Asker::Container => resource_names::resource_of_container(name, path, cx),
        Asker::Pod => {
            let before = cx.errors.0.len();
            resource_names::resource(name, path, cx);
            let is_name = cx.errors.0.len() == before;
            if is_name && !matches!(name, "cpu" | "memory") && !is_huge_page(name) {
                cx.errors.not_supported(path, name, &["cpu", HUGE_PAGES, "memory"]);
            }
        }
    }
    resource_names::amount(name, value, path, cx);
}

fn huge_pages(name: &str, value: &Value, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    let Some(size) = name.strip_prefix(HUGE_PAGES) else { return };
    let quantity = amount(value);
    let fits = Quantity::parse(size).is_ok_and(|size| {
        size.signum() > 0 && is_whole(&size) && quantity.value().checked_rem(size.value()) == Some(0)
    });
    if !fits {
        cx.errors.invalid(path, value.clone(), format!("{quantity} is not positive integer multiple of {name}"));
    }
}

/// The claims of containers name claims of the pod.
pub fn claims_of_containers(spec: At<'_, PodSpec>, cx: &mut ValidationContext<'_>) {
    containers::each(spec, |container, path| {
        let path = path.to(Container::RESOURCES);
        claims(spec.new, container.field(Container::RESOURCES), &path, cx);
    });
}

/// Whether a pod is on a Windows node, where it has no resources of its own: they are not looked into.
pub fn is_on_windows(spec: At<'_, PodSpec>, _: &ValidationContext<'_>) -> bool {
    spec.new.field(PodSpec::OS).some().is_some_and(|os| text(os.field(PodOS::NAME)) == "windows")
}

/// The pod's claims are among those that it has; its resources cover those of its containers.
pub fn fit_pod(spec: At<'_, PodSpec>, cx: &mut ValidationContext<'_>) {
    let Some(resources) = spec.new.field(PodSpec::RESOURCES).some() else { return };
    let path = spec.path.to(PodSpec::RESOURCES);
    if is_on_windows(spec, cx) {
        return cx.errors.forbidden(path, "may not be set for a windows pod");
    }
    claims(spec.new, resources, &path, cx);
    covers_containers(spec.new, resources, &path, cx);
}

fn claims(
    spec: View<'_, PodSpec>,
    resources: View<'_, ResourceRequirements>,
    path: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
) {
    let claims = resources.field(ResourceRequirements::CLAIMS);
    if claims.iter().len() == 0 {
        return;
    }
    let known: BTreeSet<&str> = (spec.field(PodSpec::RESOURCE_CLAIMS).iter())
        .map(|claim| text(claim.field(PodResourceClaim::NAME)))
        .filter(|name| !name.is_empty())
        .collect();
    let mut seen: HashSet<String> = HashSet::new();
    // How many requests of a claim were named.
    let mut requests: HashMap<String, usize> = HashMap::new();
    // The message for a name that is not allowed lists all that are.
    let mut unknown: Option<String> = None;
    let path = path.to(ResourceRequirements::CLAIMS);
    for (index, claim) in claims.iter().enumerate() {
        let path = path.index(index);
        let name = text(claim.field(ResourceClaim::NAME));
        let request = text(claim.field(ResourceClaim::REQUEST));
        if name.is_empty() {
            cx.errors.required(path, "");
            continue;
        }
        if seen.contains(name) {
            cx.errors.duplicate(path, name);
        } else {
            let key = if request.is_empty() { name.to_owned() } else { format!("{name}/{request}") };
            if seen.contains(&key) {
                cx.errors.duplicate(path, key.as_str());
            } else if request.is_empty() {
                let overlaps = requests.get(name).copied().unwrap_or_default();
                (0..overlaps).for_each(|_| cx.errors.duplicate(path, name));
            }
            let claim = key.split('/').next().unwrap_or_default();
            *requests.entry(claim.to_owned()).or_default() += 1;
            seen.insert(key);
        }
        if !known.contains(name) {
            let detail = unknown.get_or_insert_with(|| {
                let known: Vec<&str> = known.iter().copied().collect();
                let which = if known.is_empty() { " which is empty" } else { ": " };
                format!("must be one of the names in pod.spec.resourceClaims{which}{}", known.join(", "))
            });
            cx.errors.push(ErrorKind::NotFound, path, Some(name.into()), detail.as_str());
        }
    }
}

type Amounts<'a> = BTreeMap<&'a str, Quantity>;

fn add<'a>(sum: &mut Amounts<'a>, list: View<'a, ResourceList>) {
    for (name, value) in entries(list) {
        let total = sum.entry(name).or_default();
        *total = total.add(&amount(value));
    }
}

/// The largest sum of the containers' resources at any time.
pub fn aggregate<'a>(
    spec: View<'a, PodSpec>,
    of: impl Fn(View<'a, Container>) -> View<'a, ResourceList>,
) -> Amounts<'a> {
    let mut sum = Amounts::new();
    spec.field(PodSpec::CONTAINERS).iter().for_each(|container| add(&mut sum, of(container)));
    let (mut sidecars, mut most) = (Amounts::new(), Amounts::new());
    for container in spec.field(PodSpec::INIT_CONTAINERS).iter() {
        let mut now = sidecars.clone();
        add(&mut now, of(container));
        if super::is_sidecar(container) {
            add(&mut sum, of(container));
            sidecars.clone_from(&now);
        }
        for (name, quantity) in now {
            let most = most.entry(name).or_default();
            if quantity > *most {
                *most = quantity;
            }
        }
    }
    for (name, quantity) in most {
        let total = sum.entry(name).or_default();
        if quantity > *total {
            *total = quantity;
        }
    }
    sum
}

fn covers_containers(
    spec: View<'_, PodSpec>,
    resources: View<'_, ResourceRequirements>,
    path: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
) {
    let [requests, limits] = [ResourceRequirements::REQUESTS, ResourceRequirements::LIMITS];
    for (field, kind) in [(requests, "requests"), (limits, "limits")] {
        let path = path.to(field);
        for (name, sum) in aggregate(spec, |container| container.field(Container::RESOURCES).field(field)) {
            let Some(own) = resources.field(field).value().get(name) else { continue };
            if (kind == "requests" || is_huge_page(name)) && sum > amount(own) {
                let detail = format!("must be greater than or equal to aggregate container {kind} of {sum}");
                cx.errors.invalid(path.key(name), own.clone(), detail);
            }
        }
    }
    let own = resources.field(limits).value();
    for (index, container) in spec.field(PodSpec::CONTAINERS).iter().enumerate() {
        for (name, value) in entries(container.field(Container::RESOURCES).field(limits)) {
            let Some(most) = own.get(name).map(amount) else { continue };
            if amount(value) > most {
                let place = path.to(PodSpec::CONTAINERS);
                let place = place.index(index);
                let place = place.key(name);
                let detail = format!("must be less than or equal to pod limits of {most}");
                cx.errors.invalid(place.to(limits), value.clone(), detail);
            }
        }
    }
}
