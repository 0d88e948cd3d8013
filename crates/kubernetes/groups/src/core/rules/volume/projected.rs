//! Rules of volumes whose files come from the API: names of their sources, and paths that do not collide.

use crate::certificates::rules::signer_name;
use crate::core::rules::pod::env;
use crate::rules;
use crate::rules::internal_form::in_full;
use pintle_gates as gates;
use pintle_schema::{View, names};
use pintle_types::core::v1::{
    ClusterTrustBundleProjection, ConfigMapProjection, DownwardAPIProjection, DownwardAPIVolumeFile,
    DownwardAPIVolumeSource, KeyToPath, LocalObjectReference, PodCertificateProjection, ProjectedVolumeSource,
    ResourceFieldSelector, SecretProjection, VolumeProjection,
};
use pintle_validation::{At, ErrorKind, FieldPath, ValidationContext};
use std::collections::HashSet;

/// Fields of the pod that a file can contain.
const POD_FIELDS: &[&str] =
    &["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];

/// A file shows one field of the pod or one resource of a container. kube-apiserver's paths leave the list out.
pub fn file(file: At<'_, DownwardAPIVolumeFile>, cx: &mut ValidationContext<'_>) {
    type File = DownwardAPIVolumeFile;
    let source = file.path.parent().parent();
    let name = file.new.field(File::PATH);
    let path = source.to(File::PATH);
    if name.as_str().is_empty() {
        cx.errors.required(path, "");
    } else {
        rules::has_format("unreserved-path", name.value(), &path, cx);
    }
    match (file.new.field(File::FIELD_REF).is_set(), file.new.field(File::RESOURCE_FIELD_REF).some()) {
        (true, Some(_)) => {
            let detail = "fieldRef and resourceFieldRef can not be specified simultaneously";
            cx.errors.invalid(source, "resource", detail);
        }
        (false, Some(resource)) => {
            if resource.field(ResourceFieldSelector::CONTAINER_NAME).as_str().is_empty() {
                let path = source.to(File::RESOURCE_FIELD_REF);
                cx.errors.required(path.to(ResourceFieldSelector::CONTAINER_NAME), "");
            }
        }
        (false, None) => cx.errors.required(source, "one of fieldRef and resourceFieldRef is required"),
        (true, None) => {}
    }
    if let Some(mode) = file.new.field(File::MODE).some() {
        rules::has_format("file-mode", mode.value(), &source.to(File::MODE), cx);
    }
}

/// A token is written to a file. kube-apiserver's path is that of the volume.
pub fn token_path(path: At<'_, String>, cx: &mut ValidationContext<'_>) {
    let volume = path.path.parent().parent().parent().parent();
    match path.new.as_str().is_empty() {
        true => cx.errors.required(volume.child("path"), ""),
        false => rules::has_format("unreserved-path", path.new.value(), &volume.child("path"), cx),
    }
}

/// A part of a volume has one source.
pub fn one_part(part: At<'_, VolumeProjection>, cx: &mut ValidationContext<'_>) {
    let sources = part.new.value().as_map().into_iter().flat_map(|map| map.values());
    if sources.filter(|source| !source.is_null()).count() > 1 {
        cx.errors.forbidden(part.path, "may not specify more than 1 volume type per source");
    }
}

/// A certificate is written to at least one file.
pub fn certificate_files(certificate: At<'_, PodCertificateProjection>, cx: &mut ValidationContext<'_>) {
    type Certificate = PodCertificateProjection;
    let files = [Certificate::CREDENTIAL_BUNDLE_PATH, Certificate::KEY_PATH, Certificate::CERTIFICATE_CHAIN_PATH];
    if files.into_iter().all(|file| certificate.new.field(file).as_str().is_empty()) {
        let detail = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath";
        cx.errors.required(certificate.path, detail);
    }
}

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
    fn add(&mut self, file: &'a str, shown: &str, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
        if file.is_empty() {
            return;
        }
        if !self.0.insert(file) {
            cx.errors.invalid(path, shown, "conflicting duplicate paths");
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
        let bundle = bundle.filter(|_| cx.enabled(&gates::CLUSTER_TRUST_BUNDLE_PROJECTION));
        let certificate = part.field(Part::POD_CERTIFICATE).some();
        let certificate = certificate.filter(|_| cx.enabled(&gates::POD_CERTIFICATE_REQUEST));
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
            paths.add(file, file, volume.path, cx);
        }
        if let Some(certificate) = certificate {
            certificate_part(certificate, &place.to(Part::POD_CERTIFICATE), volume.path, &mut paths, cx);
        }
    }
}

/// Trust anchors come from one bundle by its name, or from those of a signer.
pub fn trust_bundle(bundle: At<'_, ClusterTrustBundleProjection>, cx: &mut ValidationContext<'_>) {
    type Bundle = ClusterTrustBundleProjection;
    if !cx.enabled(&gates::CLUSTER_TRUST_BUNDLE_PROJECTION) {
        return;
    }
    let selector = bundle.new.field(Bundle::LABEL_SELECTOR);
    match (bundle.new.field(Bundle::NAME).some(), bundle.new.field(Bundle::SIGNER_NAME).some()) {
        (Some(name), None) => {
            let path = bundle.path.to(Bundle::NAME);
            if name.as_str().is_empty() {
                cx.errors.required(path, "must be a valid object name");
            }
            let own = name.as_str().rsplit(':').next().unwrap_or_default();
            for message in names::dns1123_subdomain(own).into_iter().filter(|_| !name.as_str().is_empty()) {
                let detail = format!("not a valid clustertrustbundlename: {message}");
                cx.errors.invalid(path, name.as_str(), detail);
            }
            if selector.is_set() {
                let path = bundle.path.to(Bundle::LABEL_SELECTOR);
                cx.errors.invalid(path, in_full(selector), "labelSelector must be unset if name is specified");
            }
        }
        (None, Some(signer)) => {
            let path = bundle.path.to(Bundle::SIGNER_NAME);
            if signer.as_str().is_empty() {
                cx.errors.required(path, "must be a valid signer name");
            }
            signer_name::validate(signer.as_str(), &path, cx);
            if let Some(selector) = selector.some() {
                let path = bundle.path.to(Bundle::LABEL_SELECTOR);
                rules::label_selector(At { new: selector, old: None, path: &path }, cx);
            }
        }
        (Some(_), Some(_)) => {
            let detail = "only one of name and signerName may be used";
            cx.errors.push(ErrorKind::Invalid, bundle.path, None, detail);
        }
        (None, None) => cx.errors.required(bundle.path, "either name or signerName must be specified"),
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
