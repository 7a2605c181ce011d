import type { Program } from "../program.ts"
import type { Scenario } from "../scenario.ts"

/** A chart of ours, after Helm's documentation: a definition, a hook of each kind that users have, and a test. */
const CHART: Readonly<Record<string, string>> = {
  "Chart.yaml": `apiVersion: v2
name: shop
version: 1.0.0
appVersion: "1"
type: application
`,
  "values.yaml": `replicas: 2
image: k3ts.local/web:1
message: first
`,
  "crds/orders.yaml": `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: orders.shop.example.com }
spec:
  group: shop.example.com
  scope: Namespaced
  names: { kind: Order, plural: orders, singular: order }
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: { type: object, properties: { amount: { type: integer, minimum: 1 } } }
`,
  "templates/_helpers.tpl": `{{- define "shop.labels" -}}
app.kubernetes.io/name: shop
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
`,
  "templates/order.yaml": `apiVersion: shop.example.com/v1
kind: Order
metadata: { name: {{ .Release.Name }}, labels: {{ include "shop.labels" . | fromYaml | toJson }} }
spec: { amount: {{ .Values.replicas }} }
`,
  "templates/password.yaml": `{{- $known := lookup "v1" "Secret" .Release.Namespace (printf "%s-password" .Release.Name) }}
apiVersion: v1
kind: Secret
metadata: { name: {{ .Release.Name }}-password }
data:
  password: {{ if $known }}{{ $known.data.password }}{{ else }}{{ randAlphaNum 16 | b64enc }}{{ end }}
`,
  "templates/web.yaml": `apiVersion: v1
kind: ConfigMap
metadata: { name: {{ .Release.Name }}-pages }
data: { index.html: {{ .Values.message | quote }} }
---
apiVersion: apps/v1
kind: Deployment
metadata: { name: {{ .Release.Name }}, labels: {{ include "shop.labels" . | fromYaml | toJson }} }
spec:
  replicas: {{ .Values.replicas }}
  selector: { matchLabels: { app.kubernetes.io/instance: {{ .Release.Name }} } }
  template:
    metadata:
      labels: {{ include "shop.labels" . | fromYaml | toJson }}
      annotations: { checksum/pages: {{ .Values.message | sha256sum }} }
    spec:
      containers:
        - name: web
          image: {{ .Values.image }}
          ports: [{ name: http, containerPort: 80 }]
          readinessProbe: { httpGet: { path: /, port: http }, periodSeconds: 1 }
          volumeMounts: [{ name: pages, mountPath: /www }]
      volumes: [{ name: pages, configMap: { name: {{ .Release.Name }}-pages } }]
---
apiVersion: v1
kind: Service
metadata: { name: {{ .Release.Name }} }
spec:
  selector: { app.kubernetes.io/instance: {{ .Release.Name }} }
  ports: [{ name: http, port: 80, targetPort: http }]
`,
  "templates/hooks.yaml": `{{- range list "pre-install" "post-install" "pre-upgrade" "post-rollback" "pre-delete" }}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ $.Release.Name }}-{{ . }}
  annotations:
    helm.sh/hook: {{ . }}
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers: [{ name: hook, image: k3ts.local/busybox:1, command: [sh, -c, "echo {{ . }}"] }]
{{- end }}
`,
  "templates/tests/page.yaml": `apiVersion: v1
kind: Pod
metadata:
  name: {{ .Release.Name }}-page
  annotations: { helm.sh/hook: test, helm.sh/hook-delete-policy: before-hook-creation }
spec:
  restartPolicy: Never
  containers:
    - name: page
      image: k3ts.local/busybox:1
      command: [sh, -c, 'wget -qO- -T 5 http://{{ .Release.Name }} | tee /dev/stderr | grep -q {{ .Values.message }}']
`,
}

async function useHelm(at: Scenario): Promise<void> {
  for (const [path, text] of Object.entries(CHART)) at.write(`shop/${path}`, text)
  await at.step(
    "Installing a chart with a definition, hooks and a namespace of its own",
    180,
    `helm lint shop
helm install web shop --namespace shop --create-namespace --wait --timeout 2m
same deployed "$(helm status web -n shop -o json | jq -r .info.status)"
same 2 "$(kubectl -n shop get deployment web -o jsonpath='{.status.readyReplicas}')"
same '' "$(kubectl -n shop get jobs -o name)"
helm get manifest web -n shop | kubectl diff -n shop -f - || fail "the cluster differs from the manifest"`,
  )
  await at.step("Running the chart's test", 90, `has "$(helm test web -n shop --logs --timeout 1m)" first`)
  await at.step(
    "Upgrading, with what lookup finds",
    180,
    `before=$(kubectl -n shop get secret web-password -o jsonpath='{.data.password}')
helm upgrade web shop -n shop --set message=second --set replicas=3 --wait --timeout 2m
same "$before" "$(kubectl -n shop get secret web-password -o jsonpath='{.data.password}')"
same 3 "$(kubectl -n shop get order web -o jsonpath='{.spec.amount}')"
helm upgrade web shop -n shop --set message=second --set replicas=3 --dry-run=server > dry.txt
has "$(cat dry.txt)" "$before"
helm test web -n shop --timeout 1m`,
  )
  await at.step(
    "Upgrading to an image that there is not, and rolling back",
    180,
    `if helm upgrade web shop -n shop --set image=k3ts.local/none:1 --wait --timeout 5s; then fail "the upgrade succeeded"; fi
same failed "$(helm status web -n shop -o json | jq -r .info.status)"
helm rollback web 2 -n shop --wait --timeout 2m
same k3ts.local/web:1 "$(kubectl -n shop get deployment web -o jsonpath='{.spec.template.spec.containers[0].image}')"
same 3 "$(kubectl -n shop get deployment web -o jsonpath='{.status.readyReplicas}')"
same 4 "$(helm history web -n shop -o json | jq length)"
helm test web -n shop --timeout 1m`,
  )
  await at.step(
    "Refusing a value that the definition refuses, and leaving the release as it was",
    60,
    `if helm upgrade web shop -n shop --set replicas=0 2> refused.txt; then fail "the upgrade succeeded"; fi
has "$(cat refused.txt)" 'spec.amount in body should be greater than or equal to 1'`,
  )
  at.write(
    "registry.yml",
    "version: 0.1\nlog: { level: error }\nstorage: { filesystem: { rootdirectory: ./images } }\nhttp: { addr: 127.0.0.1:5007 }\n",
  )
  await at.step(
    "Pushing the chart to a registry, and installing it from there",
    120,
    `docker-registry serve registry.yml > registry.log 2>&1 &
trap "kill $!" EXIT
until_true 20 curl -sf http://127.0.0.1:5007/v2/
helm package shop
helm push shop-1.0.0.tgz oci://127.0.0.1:5007/charts --plain-http
helm show chart oci://127.0.0.1:5007/charts/shop --version 1.0.0 --plain-http
helm install other oci://127.0.0.1:5007/charts/shop --version 1.0.0 --plain-http -n shop --wait --timeout 1m
same '["other","web"]' "$(helm list -n shop -o json | jq -c 'map(.name) | sort')"`,
  )
  await at.step(
    "Uninstalling",
    120,
    `helm uninstall web other -n shop --wait --timeout 1m
same '' "$(helm list -n shop -q)"
kubectl delete namespace shop --timeout=60s
kubectl delete crd orders.shop.example.com --timeout=60s`,
  )
}

const SHOWS =
  "chart with definition, hooks, `lookup` and tests: install, test, upgrade, failed upgrade, rollback, refused upgrade, push to a registry, install from there, uninstall"

/** Also for the programs whose charts it installs. */
export const HELM = {
  kind: "go",
  module: "helm.sh/helm/v4",
  package: "cmd/helm",
  version: "v4.3.1",
  sum: "h1:UndCoLe9UPmNoL7IvWzaUXveL7T5t/ijoorEmgJdI9g=",
  program: "helm",
} as const

export const helm4: Program = { name: "helm", from: [HELM], shows: SHOWS, on: "node", run: useHelm }

export const helm3: Program = {
  name: "helm-3",
  from: [
    { ...HELM, module: "helm.sh/helm/v3", version: "v3.21.4", sum: "h1:T/GcIEXU/gNjJnkITlIZ3e9xqkZjhFTmISuStTZ6+Qg=" },
  ],
  shows: SHOWS,
  on: "node",
  run: useHelm,
}
