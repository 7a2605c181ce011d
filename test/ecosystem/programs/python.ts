import type { Program } from "../program.ts"

/** What a script of an administrator does with the client, after its own examples. */
const SCRIPT = `import json
import time
from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client.rest import ApiException
from kubernetes.stream import portforward, stream

config.load_kube_config()
core, apps, extensions = client.CoreV1Api(), client.AppsV1Api(), client.ApiextensionsV1Api()
namespace = "scripts"
core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=namespace)))

utils.create_from_yaml(client.ApiClient(), "web.yaml", namespace=namespace)
for event in watch.Watch().stream(apps.list_namespaced_deployment, namespace, timeout_seconds=60):
    if (event["object"].status.ready_replicas or 0) == 2:
        break
else:
    raise SystemExit("the deployment is not ready")

apps.patch_namespaced_deployment_scale("web", namespace, {"spec": {"replicas": 1}})
apps.patch_namespaced_deployment("web", namespace, [{"op": "add", "path": "/metadata/labels", "value": {"by": "script"}}])
assert apps.list_namespaced_deployment(namespace, label_selector="by=script").items[0].spec.replicas == 1
while len(pods := core.list_namespaced_pod(namespace, field_selector="status.phase=Running").items) != 1:
    time.sleep(0.2)
name = pods[0].metadata.name

said = stream(core.connect_get_namespaced_pod_exec, name, namespace, command=["sh", "-c", "echo out; echo err >&2"],
              stderr=True, stdin=False, stdout=True, tty=False)
assert "out" in said and "err" in said, said
shell = stream(core.connect_get_namespaced_pod_exec, name, namespace, command=["sh"], stderr=True, stdin=True,
               stdout=True, tty=False, _preload_content=False)
shell.write_stdin("expr 6 '*' 7; exit 3\\n")
shell.run_forever(timeout=20)
assert shell.read_stdout().strip() == "42" and shell.returncode == 3, shell.returncode

assert "serving" in core.read_namespaced_pod_log(name, namespace)
for line in watch.Watch().stream(core.read_namespaced_pod_log, name=name, namespace=namespace):
    assert "serving" in line
    break

tunnel = portforward(core.connect_get_namespaced_pod_portforward, name, namespace, ports="80")
socket = tunnel.socket(80)
socket.setblocking(True)
socket.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
page = b""
while part := socket.recv(4096):
    page += part
assert b"k3ts web" in page and tunnel.error(80) is None, (page, tunnel.error(80))

try:
    core.create_namespaced_config_map(namespace, client.V1ConfigMap(metadata=client.V1ObjectMeta(name="No Name")))
    raise SystemExit("a wrong name was taken")
except ApiException as error:
    assert error.status == 422 and "RFC 1123" in error.body, error.body

maps = dynamic.DynamicClient(client.ApiClient()).resources.get(api_version="v1", kind="ConfigMap")
desired = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "1"}}
maps.server_side_apply(body=json.dumps(desired), name="settings", namespace=namespace, field_manager="script")
assert maps.get(name="settings", namespace=namespace).data.a == "1"
version = maps.get(namespace=namespace).metadata.resourceVersion
maps.patch(body={"data": {"a": "2"}}, name="settings", namespace=namespace, content_type="application/merge-patch+json")
for event in maps.watch(namespace=namespace, resource_version=version, timeout=20):
    if event["object"].metadata.name == "settings":
        assert event["type"] == "MODIFIED" and event["object"].data.a == "2"
        break

core.delete_namespace(namespace, propagation_policy="Foreground")
print("done")
`

const WEB = `apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 2
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec: { containers: [{ name: web, image: "k3ts.local/web:1" }] }
`

export const python: Program = {
  name: "python-kubernetes",
  from: [
    {
      kind: "debian",
      package: "python3-kubernetes",
      version: "22.6.0-2",
      sha256: "60d18219e26a2a7c745aac4bc2e94e8e96492803a76f354383fb1a26f60201e2",
      libraries: [
        ...["certifi", "dateutil", "google-auth", "requests", "requests-oauthlib", "oauthlib", "six", "urllib3"],
        ...["websocket", "yaml", "pkg-resources", "cachetools", "pyasn1", "pyasn1-modules", "rsa", "chardet", "idna"],
      ].map((name) => `python3-${name}`),
    },
  ],
  shows:
    "a script with the client of 2022: create from YAML, watches, patches, exec with an exit code, logs, forwarded ports, server-side apply by the dynamic client, refusals",
  on: "node",
  async run(at) {
    at.write("script.py", SCRIPT)
    at.write("web.yaml", WEB)
    await at.step(
      "Running the script",
      150,
      `PYTHONPATH=${at.had.folder("python3-kubernetes")}/usr/lib/python3/dist-packages python3 script.py
kubectl wait namespace scripts --for=delete --timeout=60s`,
    )
  },
}
