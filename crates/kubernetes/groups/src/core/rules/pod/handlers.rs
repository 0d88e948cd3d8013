//! Rules of what hooks do, where they depend on the pod.

use pintle_schema::{Value, View};
use pintle_types::core::v1::{LifecycleHandler, SleepAction};
use pintle_validation::{FieldPath, ValidationContext};

/// What a hook sleeps fits into the time that the pod has to end.
pub fn hook(
    hook: View<'_, LifecycleHandler>,
    grace: Option<i64>,
    path: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
) {
    let others =
        [LifecycleHandler::EXEC.name(), LifecycleHandler::HTTP_GET.name(), LifecycleHandler::TCP_SOCKET.name()];
    if let Some(sleep) = hook.field(LifecycleHandler::SLEEP).some()
        && others.iter().all(|other| hook.value().get(other).is_none_or(Value::is_null))
    {
        sleeps(sleep, grace, &path.to(LifecycleHandler::SLEEP), cx);
    }
}

fn sleeps(sleep: View<'_, SleepAction>, grace: Option<i64>, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    let Some(grace) = grace else { return };
    let seconds = sleep.field(SleepAction::SECONDS).get();
    if cx.enabled("PodLifecycleSleepActionAllowZero") {
        if !(0..=grace).contains(&seconds) {
            let detail = format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
            cx.errors.invalid(path, seconds, detail);
        }
    } else if !(1..=grace).contains(&seconds) {
        let detail = format!(
            "must be greater than 0 and less than terminationGracePeriodSeconds ({grace}). \
             Enable AllowPodLifecycleSleepActionZeroValue feature gate for zero sleep."
        );
        cx.errors.invalid(path, seconds, detail);
    }
}
