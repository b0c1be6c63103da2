"""Checks that a manifest of Kubernetes holds together: kinds and fields that exist, selectors that select, names of
ports and volumes that are defined. It needs no cluster and no network. Usage: lint.py FILE"""

import sys

import yaml

KINDS = {
    "StatefulSet": ("apps/v1", {"serviceName", "replicas", "selector", "template", "volumeClaimTemplates"}),
    "Service": ("v1", {"selector", "ports"}),
    "NetworkPolicy": ("networking.k8s.io/v1", {"podSelector", "policyTypes", "ingress"}),
}
POD = {"terminationGracePeriodSeconds", "securityContext", "containers", "volumes"}
CONTAINER = {
    "name", "image", "imagePullPolicy", "args", "ports", "livenessProbe", "readinessProbe", "resources",
    "securityContext", "volumeMounts",
}


def check(is_right, what):
    if not is_right:
        sys.exit(f"{sys.argv[1]}: {what}")


with open(sys.argv[1], encoding="utf-8") as file:
    objects = {it["kind"]: it for it in yaml.safe_load_all(file)}
check(set(objects) == set(KINDS), f"it has {sorted(objects)}")
for kind, it in objects.items():
    version, fields = KINDS[kind]
    check(set(it) == {"apiVersion", "kind", "metadata", "spec"}, f"{kind}: the fields {sorted(it)}")
    check(it["apiVersion"] == version, f"{kind}: the version {it['apiVersion']}")
    check(set(it["spec"]) <= fields, f"{kind}: the fields {sorted(set(it['spec']) - fields)} do not exist")

stateful = objects["StatefulSet"]["spec"]
labels = stateful["template"]["metadata"]["labels"]
selectors = {
    "StatefulSet": stateful["selector"]["matchLabels"],
    "Service": objects["Service"]["spec"]["selector"],
    "NetworkPolicy": objects["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"],
}
for kind, selector in selectors.items():
    check(selector.items() <= labels.items(), f"{kind}: it selects {selector}, and the pod has {labels}")
check(stateful["serviceName"] == objects["Service"]["metadata"]["name"], "the service has another name")
pod = stateful["template"]["spec"]
check(set(pod) <= POD, f"pod: the fields {sorted(set(pod) - POD)} do not exist")
volumes = {it["name"] for it in pod["volumes"]} | {it["metadata"]["name"] for it in stateful["volumeClaimTemplates"]}
for container in pod["containers"]:
    check(set(container) <= CONTAINER, f"container: the fields {sorted(set(container) - CONTAINER)} do not exist")
    ports = {it["name"] for it in container["ports"]}
    used = [container[probe]["httpGet"]["port"] for probe in ("livenessProbe", "readinessProbe")]
    used += [it["targetPort"] for it in objects["Service"]["spec"]["ports"]]
    used += [it["port"] for rule in objects["NetworkPolicy"]["spec"]["ingress"] for it in rule["ports"]]
    check(set(used) <= ports, f"container: the ports {sorted(set(used) - ports)} are not defined")
    mounted = {it["name"] for it in container["volumeMounts"]}
    check(mounted <= volumes, f"container: the volumes {sorted(mounted - volumes)} are not defined")
