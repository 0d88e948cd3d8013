//! Rules of volumes whose files come from the API: names of their sources, and paths that do not collide.

use crate::certificates::rules::signer_name;
use crate::core::rules::pod::env;
use crate::rules;
use pintle_schema::{View, names};
use pintle_types::core::v1::{
    ClusterTrustBundleProjection, ConfigMapProjection, DownwardAPIProjection, DownwardAPIVolumeFile,
    DownwardAPIVolumeSource, KeyToPath, LocalObjectReference, PodCertificateProjection, ProjectedVolumeSource,
    ResourceFieldSelector, SecretProjection, VolumeProjection,
};
use pintle_validation::{At, FieldPath, ValidationContext};
use std::collections::HashSet;

/// Fields of the pod that a file can contain.
const POD_FIELDS: &[&str] =
    &["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];

/// Files about the pod.
pub fn pod_info(source: At<'_, DownwardAPIVolumeSource>, cx: &mut ValidationContext<'_>) {
    files(source.new.field(DownwardAPIVolumeSource::ITEMS), source.path, cx);
}

/// Files about the pod.
pub fn pod_info_part(source: At<'_, DownwardAPIProjection>, cx: &mut ValidationContext<'_>) {
    files(source.new.field(DownwardAPIProjection::ITEMS), source.path, cx);
}

/// The sources of files are valid. kube-apiserver's paths leave the list out.
fn files(files: View<'_, Vec<DownwardAPIVolumeFile>>, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    type File = DownwardAPIVolumeFile;
    for file in files.iter() {
        match (file.field(File::FIELD_REF).some(), file.field(File::RESOURCE_FIELD_REF).some()) {
            (Some(field), _) => env::object_field(field, POD_FIELDS, &path.to(File::FIELD_REF), cx),
            (None, Some(resource)) => {
                // Without a container nothing is looked up, but the unit is validated all the same.
                let is_told = !resource.field(ResourceFieldSelector::CONTAINER_NAME).as_str().is_empty();
                let validate = if is_told { env::resource_field } else { env::divisor };
                validate(resource, &path.to(File::RESOURCE_FIELD_REF), cx);
            }
            (None, None) => {}
        }
    }
}

/// The paths of earlier files.
struct Paths<'a>(HashSet<&'a str>);

impl<'a> Paths<'a> {
    /// Adds a path. A duplicate is reported with the name of its source.
    fn add(&mut self, file: &'a str, told: &str, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
        if file.is_empty() {
            return;
        }
        if !self.0.insert(file) {
            cx.errors.invalid(path, told, "conflicting duplicate paths");
        }
    }

    fn add_keys(
        &mut self,
        keys: View<'a, Vec<KeyToPath>>,
        owner: &str,
        path: &FieldPath<'_>,
        cx: &mut ValidationContext<'_>,
    ) {
        keys.iter().for_each(|key| self.add(key.field(KeyToPath::PATH).as_str(), owner, path, cx));
    }
}

/// Validates certificates, and that no two files have the same path.
pub fn parts(volume: At<'_, ProjectedVolumeSource>, cx: &mut ValidationContext<'_>) {
    type Part = VolumeProjection;
    let mut paths = Paths(HashSet::new());
    let list = volume.path.to(ProjectedVolumeSource::SOURCES);
    for (index, part) in volume.new.field(ProjectedVolumeSource::SOURCES).iter().enumerate() {
        let place = list.index(index);
        let secret = part.field(Part::SECRET).some();
        let config_map = part.field(Part::CONFIG_MAP).some();
        let pod_info = part.field(Part::DOWNWARD_API).some();
        let bundle = part.field(Part::CLUSTER_TRUST_BUNDLE).some();
        let bundle = bundle.filter(|_| cx.enabled("ClusterTrustBundleProjection"));
        let certificate = part.field(Part::POD_CERTIFICATE).some();
        let certificate = certificate.filter(|_| cx.enabled("PodCertificateRequest"));
        if let Some(secret) = secret {
            let name = secret.field(SecretProjection::LOCAL_OBJECT_REFERENCE).field(LocalObjectReference::NAME);
            paths.add_keys(secret.field(SecretProjection::ITEMS), name.as_str(), volume.path, cx);
        }
        if let Some(map) = config_map {
            let name = map.field(ConfigMapProjection::LOCAL_OBJECT_REFERENCE).field(LocalObjectReference::NAME);
            paths.add_keys(map.field(ConfigMapProjection::ITEMS), name.as_str(), volume.path, cx);
        }
        for file in pod_info.into_iter().flat_map(|info| info.field(DownwardAPIProjection::ITEMS).iter()) {
            let file = file.field(DownwardAPIVolumeFile::PATH).as_str();
            paths.add(file, file, volume.path, cx);
        }
        if let Some(bundle) = bundle {
            let file = bundle.field(ClusterTrustBundleProjection::PATH).as_str();
            bundle_part(bundle, &place.to(Part::CLUSTER_TRUST_BUNDLE), cx);
            paths.add(file, file, volume.path, cx);
        }
        if let Some(certificate) = certificate {
            certificate_part(certificate, &place.to(Part::POD_CERTIFICATE), volume.path, &mut paths, cx);
        }
    }
}

/// Trust anchors come from one bundle by its name, or from those of a signer.
fn bundle_part(bundle: View<'_, ClusterTrustBundleProjection>, place: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    type Bundle = ClusterTrustBundleProjection;
    let selector = bundle.field(Bundle::LABEL_SELECTOR);
    match (bundle.field(Bundle::NAME).some(), bundle.field(Bundle::SIGNER_NAME).some()) {
        (Some(name), None) => {
            let path = place.to(Bundle::NAME);
            let own = name.as_str().rsplit(':').next().unwrap_or_default();
            for message in names::dns1123_subdomain(own).into_iter().filter(|_| !name.as_str().is_empty()) {
                let detail = format!("not a valid clustertrustbundlename: {message}");
                cx.errors.invalid(path, name.as_str(), detail);
            }
        }
        (None, Some(signer)) => {
            let path = place.to(Bundle::SIGNER_NAME);
            signer_name::validate(signer.as_str(), &path, cx);
            if let Some(selector) = selector.some() {
                let path = place.to(Bundle::LABEL_SELECTOR);
                rules::label_selector(At { new: selector, old: None, path: &path }, cx);
            }
        }
        (Some(_), Some(_)) | (None, None) => {}
    }
}

/// A certificate has a signer, a kind of key, and at least one file.
fn certificate_part<'a>(
    certificate: View<'a, PodCertificateProjection>,
    place: &FieldPath<'_>,
    volume: &FieldPath<'_>,
    paths: &mut Paths<'a>,
    cx: &mut ValidationContext<'_>,
) {
    type Certificate = PodCertificateProjection;
    let signer = certificate.field(Certificate::SIGNER_NAME).as_str();
    signer_name::validate(signer, &place.to(Certificate::SIGNER_NAME), cx);
    let annotations = certificate.field(Certificate::USER_ANNOTATIONS).value().as_map();
    let path = place.to(Certificate::USER_ANNOTATIONS);
    for key in annotations.into_iter().flat_map(|map| map.keys()) {
        for message in names::prefixed_label_key(&key.to_lowercase()) {
            cx.errors.invalid(path, key.as_str(), message);
        }
    }
    if let Some(seconds) = certificate.field(Certificate::MAX_EXPIRATION_SECONDS).some().map(View::get) {
        let path = place.to(Certificate::MAX_EXPIRATION_SECONDS);
        // Signers of the system itself give certificates for a day at most.
        let of_system = signer.starts_with("kubernetes.io/");
        let most = if of_system { 86_400 } else { 7_862_400 };
        if seconds > most {
            let detail = format!("if provided, maxExpirationSeconds must be <= {most}");
            cx.errors.invalid(path, i64::from(seconds), detail);
        }
    }
    let files = [Certificate::CREDENTIAL_BUNDLE_PATH, Certificate::KEY_PATH, Certificate::CERTIFICATE_CHAIN_PATH];
    for field in files {
        let file = certificate.field(field).as_str();
        paths.add(file, file, volume, cx);
    }
}
