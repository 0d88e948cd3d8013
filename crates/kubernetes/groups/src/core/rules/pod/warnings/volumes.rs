//! Warnings of volumes: removed sources, and files of one volume at the same path.
//!
//! Files are looked up by path, not compared pairwise. Texts are kube-apiserver's.

use crate::core::rules::volume::warnings as volume;
use crate::rules::warnings::MOST;
use pintle_schema::names::quoted;
use pintle_schema::{Value, View};
use pintle_types::core::v1::{
    ClusterTrustBundleProjection, ConfigMapVolumeSource, KeyToPath, LocalObjectReference, PodCertificateProjection,
    ProjectedVolumeSource, SecretVolumeSource, ServiceAccountTokenProjection, Volume, VolumeProjection, VolumeSource,
};
use pintle_validation::FieldPath;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound::{Included, Unbounded};

/// The name of the object that a source refers to.
const NAME: &str = LocalObjectReference::NAME.name();

/// Warns of a pod's volumes.
pub fn warn(volumes: View<'_, Vec<Volume>>, path: &FieldPath<'_>, warnings: &mut Vec<String>) {
    for (index, volume) in volumes.iter().enumerate() {
        let path = path.index(index);
        for (field, name, text) in volume::OLD_SOURCES {
            if set(volume.value(), field).is_some() {
                warnings.push(format!("{}: {text}", path.child(name)));
            }
        }
        volume::of_made_claim(volume, &path, warnings);
    }
    volumes.iter().for_each(|volume| overlaps(volume, warnings));
}

/// Where a file goes, and whose it is, if several sources make one volume.
struct File<'a> {
    path: &'a str,
    source: String,
}

impl fmt::Display for File<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&quoted(self.path))?;
        if self.source.is_empty() { Ok(()) } else { write!(f, " ({})", self.source) }
    }
}

/// The files that are listed in a source of keys.
fn listed<'a>(source: &'a Value, named: &str) -> Vec<File<'a>> {
    // All sources of keys list them alike.
    let items = source.get(ConfigMapVolumeSource::ITEMS.name()).and_then(Value::as_list).unwrap_or(&[]);
    items.iter().map(|item| File { path: item.str_at(&[KeyToPath::PATH.name()]), source: named.to_owned() }).collect()
}

/// Warns of files of one volume with the same path, or with a path below another.
fn overlaps(volume: View<'_, Volume>, warnings: &mut Vec<String>) {
    let name = volume.field(Volume::NAME).as_str();
    let source = volume.value();
    if let Some(map) = set(source, VolumeSource::CONFIG_MAP.name()) {
        let of = format!("ConfigMap {:?}", map.str_at(&[NAME]));
        among(name, &of, listed(map, ""), warnings);
    }
    if let Some(secret) = set(source, VolumeSource::SECRET.name()) {
        let of = format!("Secret {:?}", secret.str_at(&[SecretVolumeSource::SECRET_NAME.name()]));
        among(name, &of, listed(secret, ""), warnings);
    }
    if let Some(of_pod) = set(source, VolumeSource::DOWNWARD_API.name()) {
        among(name, "DownwardAPI", listed(of_pod, ""), warnings);
    }
    let Some(projected) = set(source, VolumeSource::PROJECTED.name()) else { return };
    let mut files = Vec::new();
    for source in projected.get(ProjectedVolumeSource::SOURCES.name()).and_then(Value::as_list).unwrap_or(&[]) {
        if source.as_map().is_none_or(|map| map.values().all(Value::is_null)) {
            warnings.push(format!("volume {name:?} (Projected) has no sources provided"));
        }
        files.extend(projected_files(source));
    }
    among(name, "Projected", files, warnings);
}

/// The files of one source of several.
fn projected_files(source: &Value) -> Vec<File<'_>> {
    let one = |path, source: String| vec![File { path, source }];
    if let Some(map) = set(source, VolumeProjection::CONFIG_MAP.name()) {
        listed(map, &format!("ConfigMap {:?}", map.str_at(&[NAME])))
    } else if let Some(secret) = set(source, VolumeProjection::SECRET.name()) {
        listed(secret, &format!("Secret {:?}", secret.str_at(&[NAME])))
    } else if let Some(of_pod) = set(source, VolumeProjection::DOWNWARD_API.name()) {
        listed(of_pod, "DownwardAPI")
    } else if let Some(token) = set(source, VolumeProjection::SERVICE_ACCOUNT_TOKEN.name()) {
        one(token.str_at(&[ServiceAccountTokenProjection::PATH.name()]), "ServiceAccountToken".to_owned())
    } else if let Some(bundle) = set(source, VolumeProjection::CLUSTER_TRUST_BUNDLE.name()) {
        let names = [ClusterTrustBundleProjection::NAME.name(), ClusterTrustBundleProjection::SIGNER_NAME.name()];
        let named = names.iter().find_map(|field| set(bundle, field)).and_then(Value::as_str).unwrap_or_default();
        let path = bundle.str_at(&[ClusterTrustBundleProjection::PATH.name()]);
        one(path, format!("ClusterTrustBundle {named:?}"))
    } else if let Some(certificate) = set(source, VolumeProjection::POD_CERTIFICATE.name()) {
        let parts = [
            (PodCertificateProjection::CERTIFICATE_CHAIN_PATH.name(), "chain"),
            (PodCertificateProjection::KEY_PATH.name(), "key"),
            (PodCertificateProjection::CREDENTIAL_BUNDLE_PATH.name(), "credential bundle"),
        ];
        let files = parts.iter().map(|(field, part)| (certificate.str_at(&[field]), part));
        files.map(|(path, part)| File { path, source: format!("PodCertificate {part}") }).collect()
    } else {
        Vec::new()
    }
}

fn set<'a>(value: &'a Value, field: &str) -> Option<&'a Value> {
    value.get(field).filter(|value| !value.is_null())
}

fn among(volume: &str, of: &str, mut files: Vec<File<'_>>, warnings: &mut Vec<String>) {
    files.iter_mut().for_each(|file| file.path = file.path.trim_end_matches('/'));
    files.retain(|file| !file.path.is_empty());
    let mut earlier: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, file) in files.iter().enumerate() {
        if warnings.len() >= MOST {
            return;
        }
        let path = file.path;
        let inside = format!("{path}/");
        let above = path.match_indices('/').filter_map(|(at, _)| earlier.get(path.get(..at)?));
        let below = earlier.range::<str, _>((Included(inside.as_str()), Unbounded));
        let below = below.take_while(|(other, _)| other.starts_with(&inside)).map(|(_, places)| places);
        let mut others: Vec<usize> = above.chain(earlier.get(path)).chain(below).flatten().copied().collect();
        others.sort_unstable();
        for other in others.iter().filter_map(|at| files.get(*at)) {
            warnings.push(format!("volume {volume:?} ({of}): overlapping paths: {file} with {other}"));
        }
        earlier.entry(path).or_default().push(index);
    }
}
