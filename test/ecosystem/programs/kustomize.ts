import type { Program } from "../program.ts"

const FILES: Readonly<Record<string, string>> = {
  "base/kustomization.yaml": `resources: [web.yaml]
labels: [{ pairs: { app: web }, includeSelectors: true, includeTemplates: true }]
configMapGenerator:
  - name: pages
    files: [index.html]
secretGenerator:
  - name: password
    literals: [password=one]
`,
  "base/index.html": "<h1>base</h1>\n",
  "base/web.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  template:
    spec:
      containers:
        - name: web
          image: web
          envFrom: [{ secretRef: { name: password } }]
          volumeMounts: [{ name: pages, mountPath: /www }]
      volumes: [{ name: pages, configMap: { name: pages } }]
---
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { ports: [{ port: 80 }] }
`,
  "production/kustomization.yaml": `namespace: production
namePrefix: shop-
resources: [../base, namespace.yaml]
components: [../components/budget]
replicas: [{ name: web, count: 3 }]
images: [{ name: web, newName: k3ts.local/web, newTag: "1" }]
configMapGenerator:
  - name: pages
    behavior: merge
    files: [index.html]
patches:
  - target: { kind: Deployment }
    patch: |-
      - op: add
        path: /spec/template/spec/containers/0/resources
        value: { requests: { cpu: 10m } }
  - patch: |-
      apiVersion: apps/v1
      kind: Deployment
      metadata: { name: web }
      spec:
        template:
          spec:
            containers: [{ name: web, env: [{ name: STAGE, value: production }] }]
replacements:
  - source: { kind: Service, name: web, fieldPath: metadata.name }
    targets:
      - select: { kind: Deployment }
        fieldPaths: [spec.template.metadata.annotations.service]
        options: { create: true }
`,
  "production/namespace.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: { name: production }\n",
  "production/index.html": "<h1>production</h1>\n",
  "components/budget/kustomization.yaml": `apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
resources: [budget.yaml]
`,
  "components/budget/budget.yaml": `apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: { name: web }
spec: { minAvailable: 1, selector: { matchLabels: { app: web } } }
`,
}

export const kustomize: Program = {
  name: "kustomize",
  from: [
    {
      kind: "go",
      module: "sigs.k8s.io/kustomize/kustomize/v5",
      version: "v5.8.1",
      sum: "h1:Pgsg5psubpVEy7Nf6S89PARg5VmmWUC1l9dC6Dl4PG0=",
      program: "kustomize",
    },
  ],
  shows:
    "base, overlay and component with generators, patches and replacements: what it builds is what `kubectl kustomize` builds, applied without a difference, rolled out anew with a new generated name, pruned",
  on: "node",
  async run(at) {
    for (const [path, text] of Object.entries(FILES)) at.write(path, text)
    await at.step(
      "Building as kubectl does",
      60,
      `kustomize build production > theirs.yaml
kubectl kustomize production > ours.yaml
diff theirs.yaml ours.yaml`,
    )
    await at.step(
      "Applying",
      120,
      `kustomize build production | kubectl apply -f -
kubectl -n production rollout status deployment/shop-web --timeout=60s
kustomize build production | kubectl diff -f -
kubectl -n production get --raw /api/v1/namespaces/production/services/shop-web/proxy/ > page.txt
has "$(cat page.txt)" production`,
    )
    await at.step(
      "Rolling out a changed page, and pruning the old one",
      120,
      `before=$(kubectl -n production get configmap -l app=web -o name)
(cd production && kustomize edit set replicas web=2)
echo '<h1>changed</h1>' > production/index.html
kustomize build production | kubectl apply -f - --prune -l app=web
kubectl -n production rollout status deployment/shop-web --timeout=60s
after=$(kubectl -n production get configmap -l app=web -o name)
[ "$before" != "$after" ] || fail "the generated name is as before: $after"
same 1 "$(echo "$after" | wc -l)"
same 2 "$(kubectl -n production get deployment shop-web -o jsonpath='{.status.readyReplicas}')"
has "$(kubectl get --raw /api/v1/namespaces/production/services/shop-web/proxy/)" changed`,
    )
    await at.step("Deleting", 120, `kustomize build production | kubectl delete -f - --timeout=90s`)
  },
}
