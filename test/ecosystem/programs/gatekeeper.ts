import { programImage } from "../program-image.ts"
import type { Program } from "../program.ts"
import { HELM } from "./helm.ts"

const CHECKOUT = "open-policy-agent/gatekeeper"

const TEMPLATE = `apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: { name: k8srequiredlabels }
spec:
  crd:
    spec:
      names: { kind: K8sRequiredLabels }
      validation:
        openAPIV3Schema:
          type: object
          properties: { labels: { type: array, items: { type: string } } }
  targets:
    - target: admission.k8s.gatekeeper.sh
      rego: |
        package k8srequiredlabels
        violation[{"msg": msg}] {
          provided := {label | input.review.object.metadata.labels[label]}
          required := {label | label := input.parameters.labels[_]}
          missing := required - provided
          count(missing) > 0
          msg := sprintf("you must provide labels: %v", [missing])
        }
`
const CEL_TEMPLATE = `apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: { name: k8sshortdata }
spec:
  crd: { spec: { names: { kind: K8sShortData } } }
  targets:
    - target: admission.k8s.gatekeeper.sh
      code:
        - engine: K8sNativeValidation
          source:
            generateVAP: true
            validations:
              - expression: "!has(object.data) || object.data.all(key, size(object.data[key]) < 10)"
                message: "values must be short"
`
const CONSTRAINT = `apiVersion: constraints.gatekeeper.sh/v1beta1
kind: K8sRequiredLabels
metadata: { name: namespaces-have-owners }
spec:
  match: { kinds: [{ apiGroups: [""], kinds: [Namespace] }] }
  parameters: { labels: [owner] }
`
const CEL_CONSTRAINT = `apiVersion: constraints.gatekeeper.sh/v1beta1
kind: K8sShortData
metadata: { name: short-data }
spec:
  enforcementAction: deny
  match: { kinds: [{ apiGroups: [""], kinds: [ConfigMap] }], namespaces: [owned] }
`
const MUTATION = `apiVersion: mutations.gatekeeper.sh/v1
kind: AssignMetadata
metadata: { name: stage }
spec:
  match: { scope: Namespaced, kinds: [{ apiGroups: [""], kinds: [ConfigMap] }], namespaces: [owned] }
  location: metadata.labels.stage
  parameters: { assign: { value: test } }
`

export const gatekeeper: Program = {
  name: "gatekeeper",
  from: [
    {
      kind: "go",
      module: "github.com/open-policy-agent/gatekeeper/v3",
      version: "v3.23.1",
      sum: "h1:njHTm0SJ6ZEhhEgmQTpJKTGQbc99fSs4hGiEp1OIKck=",
      program: "gatekeeper",
    },
    HELM,
  ],
  shows:
    "its chart with certificates that it makes itself: templates in Rego and in CEL become kinds, constraints refuse and audit, a policy of the API server is generated, objects are mutated",
  on: "node",
  checkouts: [CHECKOUT],
  images: (had) => [
    programImage({
      name: "docker.io/openpolicyagent/gatekeeper:v3.23.1",
      program: had.program("gatekeeper"),
      as: "gatekeeper",
      links: ["manager"],
      user: "65532",
    }),
  ],
  async run(at) {
    for (const [file, text] of Object.entries({ TEMPLATE, CEL_TEMPLATE, CONSTRAINT, CEL_CONSTRAINT, MUTATION }))
      at.write(`${file.toLowerCase()}.yaml`, text)
    // Its jobs run kubectl and curl, from images of their own.
    await at.step(
      "Installing",
      300,
      `helm install gatekeeper ${at.source(CHECKOUT, "charts/gatekeeper")} -n gatekeeper-system --create-namespace \\
  --set image.release=v3.23.1,replicas=1,auditInterval=5 \\
  --set upgradeCRDs.enabled=false,postInstall.labelNamespace.enabled=false,postInstall.probeWebhook.enabled=false \\
  --wait --timeout 4m`,
    )
    await at.step(
      "Refusing what has no label",
      120,
      `kubectl create namespace before
kubectl apply -f template.yaml
kubectl wait constrainttemplate k8srequiredlabels --for=jsonpath='{.status.created}'=true --timeout=60s
kubectl wait crd k8srequiredlabels.constraints.gatekeeper.sh --for=condition=Established --timeout=60s
kubectl apply -f constraint.yaml
refused() { ! kubectl create namespace nobodys --dry-run=server 2> refused.txt && grep -q 'you must provide labels: {"owner"}' refused.txt; }
until_true 60 refused
has "$(cat refused.txt)" 'admission webhook "validation.gatekeeper.sh" denied the request: [namespaces-have-owners]'
kubectl create -f - <<EOF
{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"owned","labels":{"owner":"me"}}}
EOF`,
    )
    await at.step(
      "Auditing what was there before",
      120,
      `audited() { kubectl get k8srequiredlabels namespaces-have-owners -o json | jq -e '.status.violations | map(.name) | index("before")'; }
until_true 90 audited
kubectl get k8srequiredlabels`,
    )
    // It waits half a minute before it generates the binding.
    await at.step(
      "Refusing by a policy that it generates",
      240,
      `kubectl apply -f cel_template.yaml
kubectl wait crd k8sshortdata.constraints.gatekeeper.sh --for=condition=Established --timeout=60s
kubectl apply -f cel_constraint.yaml
until_true 60 kubectl get validatingadmissionpolicy gatekeeper-k8sshortdata
until_true 90 sh -c 'kubectl get validatingadmissionpolicybindings -o name | grep -q short-data'
refused() { ! kubectl -n owned create configmap long --from-literal=a=0123456789 --dry-run=server 2> refused.txt && grep -q 'values must be short' refused.txt && grep -q ValidatingAdmissionPolicy refused.txt; }
until_true 60 refused`,
    )
    await at.step(
      "Mutating",
      90,
      `kubectl apply -f mutation.yaml
mutated() { [ "$(kubectl -n owned create configmap short --from-literal=a=1 --dry-run=server -o jsonpath='{.metadata.labels.stage}')" = test ]; }
until_true 60 mutated`,
    )
    await at.step(
      "Uninstalling",
      240,
      `kubectl delete -f mutation.yaml -f cel_constraint.yaml -f constraint.yaml --timeout=60s
kubectl delete -f cel_template.yaml -f template.yaml --timeout=60s
helm uninstall gatekeeper -n gatekeeper-system --wait
kubectl delete namespace gatekeeper-system before owned --timeout=90s
kubectl delete crd --timeout=60s $(kubectl get crd -o name | grep gatekeeper.sh | cut -d/ -f2)`,
    )
  },
}
