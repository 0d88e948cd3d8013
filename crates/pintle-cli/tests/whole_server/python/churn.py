"""The Python client's list and watch, kept up through changes and restarts as an informer does.

Arguments: the server's address. It prints a line when it has listed, and for each marker that it sees a line of JSON:
what it believes is there. Ends with 1 and the reason when an event is missing, comes twice or out of order; otherwise
when its input is closed.
"""

import json
import os
import sys
import threading
import time

import urllib3
from kubernetes import client, watch
from kubernetes.client.exceptions import ApiException

NAMESPACE = "default"
CONNECTION_ERRORS = (urllib3.exceptions.HTTPError, ConnectionError)


class Belief:
    def __init__(self):
        self.objects = {}
        # The last of each name, also of those that are gone.
        self.numbers = {}
        self.lists = 0
        self.last = 0

    def list(self, items, version):
        self.lists += 1
        self.objects = {item["metadata"]["name"]: read(item) for item in items}
        assert len(self.objects) == len(items), "listed twice"
        self.numbers = {name: number for name, (_, _, number) in self.objects.items()}
        self.last = int(version)
        if self.lists == 1:
            print("listed", flush=True)
        self.tell(*self.objects)

    def event(self, kind, item):
        name, (uid, version, number) = item["metadata"]["name"], read(item)
        known = self.objects.get(name)
        assert version > self.last, f"{kind} {name} at {version} after {self.last}"
        self.last = version
        expected = self.numbers.get(name, 0) + (kind != "DELETED")
        same = known is None if kind == "ADDED" else known is not None and known[0] == uid
        assert same and number == expected, f"{kind} {name} {uid} {number}, known as {known}, {expected}"
        self.numbers[name] = number
        self.objects[name] = (uid, version, number)
        if kind == "DELETED":
            del self.objects[name]
        self.tell(name)

    def tell(self, *names):
        for name in names:
            if name.startswith("marker-"):
                print(json.dumps({"marker": name, "lists": self.lists, "objects": self.objects}), flush=True)


def read(item):
    metadata = item["metadata"]
    return metadata["uid"], int(metadata["resourceVersion"]), int((item.get("data") or {}).get("number", 0))


def listed(api, belief):
    """The collection and its version, page by page."""
    items, token = [], None
    while True:
        page = api.list_namespaced_config_map(NAMESPACE, limit=7, _continue=token, _preload_content=False)
        page = json.loads(page.data)
        items += page["items"]
        token = page["metadata"].get("continue")
        if not token:
            belief.list(items, page["metadata"]["resourceVersion"])
            return page["metadata"]["resourceVersion"]


def follow(api, belief):
    version = None
    while True:
        try:
            version = version or listed(api, belief)
            stream = watch.Watch()
            arguments = {"resource_version": version, "allow_watch_bookmarks": True, "timeout_seconds": 300}
            for event in stream.stream(api.list_namespaced_config_map, NAMESPACE, **arguments):
                item = event["raw_object"]
                version = item["metadata"]["resourceVersion"]
                if event["type"] == "BOOKMARK":
                    continue
                belief.event(event["type"], item)
        except ApiException as error:
            if error.status != 410:
                raise
            version = None
        except CONNECTION_ERRORS:
            # The server is being restarted.
            time.sleep(0.01)


def main():
    configuration = client.Configuration(host=sys.argv[1])
    configuration.retries = False

    def until_closed():
        sys.stdin.read()
        os._exit(0)

    threading.Thread(target=until_closed, daemon=True).start()
    follow(client.CoreV1Api(client.ApiClient(configuration)), Belief())


main()
