"""The Python kubernetes client against a server: create, list, watch, patch and delete through a kubeconfig.

Ends with 0 and a last line "ok"; anything else is a failure. Takes no arguments: KUBECONFIG says where the server is.
"""

import threading

import kubernetes
import yaml
from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client.exceptions import ApiException

NAMESPACE = "default"
DEADLINE_SECONDS = 60

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: main, image: "main:1", ports: [{containerPort: 80}]}
"""


def reason(call, *arguments, **named):
    """The status and reason of a call that is refused."""
    try:
        call(*arguments, **named)
    except ApiException as error:
        return error.status, yaml.safe_load(error.body)["reason"]
    raise AssertionError("it was not refused")


def config_maps(core):
    for name, color in (("a", "red"), ("b", "green"), ("c", "red")):
        metadata = client.V1ObjectMeta(name=name, labels={"color": color})
        created = core.create_namespaced_config_map(NAMESPACE, client.V1ConfigMap(metadata=metadata, data={"k": "1"}))
        assert created.metadata.uid and created.metadata.creation_timestamp.tzinfo, created
    assert reason(core.create_namespaced_config_map, NAMESPACE, {"metadata": {"name": "a"}}) == (409, "AlreadyExists")
    assert reason(core.read_namespaced_config_map, "nobody", NAMESPACE) == (404, "NotFound")

    def names(**selection):
        found = core.list_namespaced_config_map(NAMESPACE, **selection).items
        return [item.metadata.name for item in found if item.metadata.name in "abc"]

    assert names() == ["a", "b", "c"]
    assert names(label_selector="color=red") == ["a", "c"]
    assert names(field_selector="metadata.name=b") == ["b"]
    page = core.list_namespaced_config_map(NAMESPACE, label_selector="color", limit=2)
    rest = core.list_namespaced_config_map(NAMESPACE, label_selector="color", limit=2, _continue=page.metadata._continue)
    assert [item.metadata.name for item in page.items + rest.items] == ["a", "b", "c"]

    read = core.read_namespaced_config_map("a", NAMESPACE)
    stale = core.read_namespaced_config_map("a", NAMESPACE)
    read.data["k"] = "2"
    core.replace_namespaced_config_map("a", NAMESPACE, read)
    assert reason(core.replace_namespaced_config_map, "a", NAMESPACE, stale) == (409, "Conflict")
    patched = core.patch_namespaced_config_map("a", NAMESPACE, {"data": {"l": "3"}})
    assert patched.data == {"k": "2", "l": "3"}, patched.data
    patched = core.patch_namespaced_config_map("a", NAMESPACE, [{"op": "remove", "path": "/data/k"}])
    assert patched.data == {"l": "3"}, patched.data

    core.delete_namespaced_config_map("a", NAMESPACE)
    core.delete_collection_namespaced_config_map(NAMESPACE, label_selector="color=red")
    assert names() == ["b"]


def watches(core):
    listed = core.list_namespaced_config_map(NAMESPACE)

    def change():
        core.create_namespaced_config_map(NAMESPACE, {"metadata": {"name": "watched"}, "data": {"k": "1"}})
        core.patch_namespaced_config_map("watched", NAMESPACE, {"data": {"k": "2"}})
        core.delete_namespaced_config_map("watched", NAMESPACE)

    changing = threading.Thread(target=change)
    changing.start()
    seen = []
    stream = watch.Watch()
    for event in stream.stream(
        core.list_namespaced_config_map,
        NAMESPACE,
        resource_version=listed.metadata.resource_version,
        timeout_seconds=DEADLINE_SECONDS,
    ):
        seen.append((event["type"], event["object"].data["k"]))
        if event["type"] == "DELETED":
            stream.stop()
    changing.join()
    assert seen == [("ADDED", "1"), ("MODIFIED", "2"), ("DELETED", "2")], seen


def deployments(api):
    apps = client.AppsV1Api(api)
    utils.create_from_dict(api, yaml.safe_load(DEPLOYMENT))
    read = apps.read_namespaced_deployment("web", NAMESPACE)
    assert read.spec.replicas == 1 and read.spec.strategy.rolling_update.max_surge == "25%", read.spec
    container = {"name": "main", "image": "main:2"}
    patch = {"spec": {"template": {"spec": {"containers": [container]}}}}
    patched = apps.patch_namespaced_deployment("web", NAMESPACE, patch)
    assert patched.spec.template.spec.containers[0].image == "main:2"
    apps.patch_namespaced_deployment_scale("web", NAMESPACE, {"spec": {"replicas": 3}})
    assert apps.read_namespaced_deployment_scale("web", NAMESPACE).spec.replicas == 3
    apps.delete_namespaced_deployment("web", NAMESPACE)
    assert reason(apps.read_namespaced_deployment, "web", NAMESPACE) == (404, "NotFound")


def dynamic_client(api):
    found = dynamic.DynamicClient(api)
    jobs = found.resources.get(api_version="batch/v1", kind="CronJob")
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    spec = {"schedule": "0 * * * *", "jobTemplate": {"spec": {"template": {"spec": pod}}}}
    body = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "hourly"}, "spec": spec}
    assert jobs.create(body=body, namespace=NAMESPACE).spec.concurrencyPolicy == "Allow"
    assert [job.metadata.name for job in jobs.get(namespace=NAMESPACE).items] == ["hourly"]
    jobs.delete(name="hourly", namespace=NAMESPACE)
    assert not jobs.get(namespace=NAMESPACE).items


def custom_resources(api):
    """Definitions are used as soon as they are created, without waiting."""
    definitions, objects = client.ApiextensionsV1Api(api), client.CustomObjectsApi(api)
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    for number in range(10):
        group = f"g{number}.example.com"
        names = {"plural": "widgets", "kind": "Widget"}
        spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
        metadata = {"name": f"widgets.{group}"}
        definitions.create_custom_resource_definition({"metadata": metadata, "spec": spec})
        place = (group, "v1", NAMESPACE, "widgets")
        assert objects.list_namespaced_custom_object(*place)["items"] == []
        widget = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "w"}}
        assert objects.create_namespaced_custom_object(*place, widget)["metadata"]["name"] == "w"
        found = dynamic.DynamicClient(api).resources.get(api_version=f"{group}/v1", kind="Widget")
        assert [item.metadata.name for item in found.get(namespace=NAMESPACE).items] == ["w"]
        definitions.delete_custom_resource_definition(f"widgets.{group}")


def main():
    config.load_kube_config()
    with client.ApiClient() as api:
        assert client.VersionApi(api).get_code().git_version.startswith("v1.36."), "another server"
        # The certificate in the kubeconfig says who this is.
        review = client.AuthenticationV1Api(api).create_self_subject_review({})
        assert "system:masters" in review.status.user_info.groups, review
        core = client.CoreV1Api(api)
        config_maps(core)
        watches(core)
        deployments(api)
        dynamic_client(api)
        custom_resources(api)
    print(f"kubernetes {kubernetes.__version__}")
    print("ok")


main()
