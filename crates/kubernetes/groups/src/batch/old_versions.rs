//! Versions of this group that are registered but not served: an older kube-apiserver may have stored objects in them.
//! Each is converted to the storage version, without fields that are no longer used.

use pintle_resource::Unserved;
use pintle_types as types;

pub(crate) static CRON_JOBS: &[Unserved] = &[Unserved::same::<types::batch::v1beta1::CronJob>("batch/v1beta1")];
