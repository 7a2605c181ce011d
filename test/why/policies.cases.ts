import { Pod, Secret } from "../../components/cluster/testing/testing.ts"
import { asking, deployment, type Situation } from "./situation.fixtures.ts"

const ONE = `{containers: [{name: c, image: "app:1"}]}`
const LIMITED = `{containers: [{name: c, image: "app:1", resources: {requests: {cpu: 500m}, limits: {cpu: "1"}}}]}`
export const POLICIES: readonly Situation[] = [
  {
    title: "a quota that has no room for a pod",
    yaml:
      `
apiVersion: v1
kind: ResourceQuota
metadata: {name: small}
spec: {hard: {pods: "1"}}
` + deployment("web", ONE).replace("replicas: 1", "replicas: 2"),
    ask: "deployment/web",
    cause: "quota-exceeded",
    says: /ResourceQuota default\/small does not allow a pod: requested: pods=1, used: pods=1, limited: pods=1/,
  },
  {
    title: "a quota of what the containers do not request",
    yaml: `
apiVersion: v1
kind: ResourceQuota
metadata: {name: cpu}
spec: {hard: {requests.cpu: "4"}}
${deployment("web", ONE)}`,
    ask: "deployment/web",
    cause: "quota-needs-requests",
    says: /ResourceQuota default\/cpu counts requests\.cpu/,
  },
  {
    title: "a LimitRange that allows less",
    yaml: `
apiVersion: v1
kind: LimitRange
metadata: {name: small}
spec: {limits: [{type: Container, max: {cpu: 500m}}]}
${deployment("web", LIMITED)}`,
    ask: "deployment/web",
    cause: "limit-range",
    says: /LimitRange default\/small does not allow a pod: maximum cpu usage per Container is 500m, but limit is 1/,
  },
  {
    title: "a pod that Pod Security does not take",
    yaml: `
apiVersion: v1
kind: Namespace
metadata: {name: strict, labels: {pod-security.kubernetes.io/enforce: baseline}}
${deployment("web", `{hostNetwork: true, containers: [{name: c, image: "app:1"}]}`).replace("{name: web}", "{name: web, namespace: strict}")}`,
    ask: "deployment/web",
    flags: "-n strict",
    cause: "pod-security",
    says: /namespace strict takes only pods of level baseline \(Pod Security\), and a pod breaks it: host namespaces \(hostNetwork=true\)/,
  },
  {
    title: "an admission policy that refuses",
    yaml: `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: labels}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations: [{expression: "has(object.metadata.labels.team)", message: "every pod needs the label team"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: labels}
spec: {policyName: labels, validationActions: [Deny]}
`,
    breaks: (cluster) => cluster.apply(deployment("web", ONE)),
    ask: "deployment/web",
    cause: "admission-policy",
    says: /ValidatingAdmissionPolicy labels \(binding labels\) refuses a pod: every pod needs the label team/,
  },
  {
    title: "an admission policy whose binding names parameters that do not exist",
    yaml: `
apiVersion: v1
kind: ConfigMap
metadata: {name: limits}
data: {most: "3"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations: [{expression: "params.data.most != '0'"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: few}
spec: {policyName: few, validationActions: [Deny], paramRef: {name: limit, namespace: default, parameterNotFoundAction: Deny}}
`,
    breaks: (cluster) => cluster.apply(deployment("web", ONE)),
    ask: "deployment/web",
    cause: "policy-params-missing",
    says: /ValidatingAdmissionPolicy few refuses a pod: ConfigMap limit, which binding few names as its parameters, does not exist in namespace default; there is limits/,
    mends: 1,
  },
  {
    title: "a webhook that cannot be reached",
    yaml: `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: guard}
webhooks: [{name: guard.example.com, clientConfig: {service: {name: guard, namespace: default}}, rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}], admissionReviewVersions: [v1], sideEffects: None}]
`,
    breaks: (cluster) => cluster.apply(deployment("web", ONE)),
    ask: "deployment/web",
    cause: "webhook-down",
    says: /admission webhook guard\.example\.com must be asked about a pod and cannot be reached/,
  },
  {
    title: "a webhook that refuses",
    yaml: `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: guard}
webhooks: [{name: guard.example.com, clientConfig: {service: {name: guard, namespace: default}}, rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}], admissionReviewVersions: [v1], sideEffects: None}]
`,
    breaks: (cluster) => cluster.apply(deployment("web", ONE)),
    ask: "deployment/web",
    cause: "webhook-denied",
    says: /admission webhook guard\.example\.com refuses a pod: images must be signed/,
    options: {
      nodes: 1,
      webhooks: {
        "default/guard": () => ({ allowed: false, status: { message: "images must be signed" } }),
      },
    },
  },
  {
    title: "a service account that does not exist",
    yaml: deployment("web", `{serviceAccountName: builder, containers: [{name: c, image: "app:1"}]}`),
    ask: "deployment/web",
    cause: "service-account-missing",
    says: /ServiceAccount default\/builder does not exist/,
    mends: 1,
    mendsWithin: "30m",
  },
  {
    title: "a priority class that does not exist",
    yaml: deployment("web", `{priorityClassName: urgent, containers: [{name: c, image: "app:1"}]}`),
    ask: "deployment/web",
    cause: "priority-class-missing",
    says: /PriorityClass urgent does not exist/,
  },
  {
    title: "a service account without a right that no role has",
    yaml: "",
    breaks: asking(Pod),
    ask: "deployment/web",
    cause: "right-missing",
    says: /ServiceAccount default\/default needs list on pods in namespace default, and has no such right; no role has it/,
    mends: 1,
    tried: "not-known",
  },
  {
    title: "a service account that is not bound to the role which has the right",
    yaml: `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [secrets], verbs: [get, list]}]
`,
    breaks: asking(Secret),
    ask: "deployment/web",
    cause: "right-missing",
    says: /needs list on secrets in namespace default, and has no such right; Role reader has it, and is not bound/,
    mends: 1,
    tried: "not-known",
  },
  {
    title: "a drain that a disruption budget stops",
    yaml:
      deployment("web", ONE) +
      `
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
`,
    breaks: (cluster) => cluster.kubectl("cordon node-0"),
    ask: "node/node-0",
    cause: "drain-blocked",
    says: /PodDisruptionBudget default\/web never lets a pod be evicted: minAvailable 1 of 1 pods leaves none to spare/,
    options: { nodes: 1 },
  },
  {
    title: "a disruption budget that never allows anything",
    yaml:
      deployment("web", ONE).replace("replicas: 1", "replicas: 2") +
      `
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {maxUnavailable: 0, selector: {matchLabels: {app: web}}}
`,
    ask: "pdb/web",
    cause: "budget-never-allows",
    says: /maxUnavailable 0 leaves none to spare/,
  },
  {
    title: "an object that a finalizer holds",
    yaml: `
apiVersion: v1
kind: ConfigMap
metadata: {name: held, finalizers: [example.com/cleanup]}
`,
    breaks: (cluster) => cluster.kubectl("delete configmap held --wait=false"),
    ask: "configmap/held",
    cause: "held-by-finalizer",
    says: /held by the finalizer example\.com\/cleanup: only the controller that set it removes it, that of example\.com/,
  },
  {
    title: "a namespace that an object with a finalizer holds",
    yaml: `
apiVersion: v1
kind: Namespace
metadata: {name: old}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: held, namespace: old, finalizers: [example.com/cleanup]}
`,
    breaks: (cluster) => cluster.kubectl("delete namespace old --wait=false"),
    ask: "namespace/old",
    cause: "held-by-finalizer",
    says: /ConfigMap old\/held has been deleted for \S+ and is held by the finalizer example\.com\/cleanup/,
  },
  {
    title: "a custom resource whose controller says what is wrong",
    yaml: `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: backups.example.com}
spec:
  group: example.com
  names: {kind: Backup, plural: backups}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`,
    breaks: async (cluster) => {
      await cluster.apply("apiVersion: example.com/v1\nkind: Backup\nmetadata: {name: b}")
      await cluster.kubectl([
        ..."patch backup b --subresource=status --type=merge -p".split(" "),
        JSON.stringify({
          status: {
            conditions: [{ type: "Ready", status: "False", reason: "NoBucket", message: "bucket x does not exist" }],
          },
        }),
      ])
    },
    ask: "backup/b",
    cause: "condition",
    says: /its controller says Ready=False: NoBucket: bucket x does not exist/,
  },
  {
    title: "a name that has a typing error",
    yaml: deployment("web", ONE),
    ask: "deployment/wbe",
    cause: "deployment-missing",
    says: /Deployment default\/wbe does not exist/,
  },
  {
    title: "a rollout for which a quota has no room",
    yaml: deployment("web", ONE),
    breaks: async (cluster) => {
      await cluster.apply("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: one}\nspec: {hard: {pods: '1'}}")
      await cluster.kubectl("set image deployment/web c=app:2")
    },
    ask: "deployment/web",
    cause: "quota-exceeded",
    says: /ResourceQuota default\/one does not allow a pod: requested: pods=1, used: pods=1, limited: pods=1/,
  },
  {
    title: "a policy that lets a pod reach its database, but no DNS",
    yaml: `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: out}
spec: {podSelector: {}, policyTypes: [Egress], egress: [{ports: [{port: 5432}]}]}
${deployment("web", ONE)}`,
    ask: "deployment/web",
    cause: "network-policy",
    says: /cannot ask DNS: NetworkPolicy default\/out selects it for egress, and no rule lets it out to UDP port 53/,
    options: {
      nodes: 1,
      images: {
        "app:1": {
          runsMs: 100,
          exitCode: 1,
          logs: ["dial tcp: lookup db on 10.43.0.10:53: read udp 10.42.0.2:3333->10.43.0.10:53: i/o timeout"],
        },
      },
    },
  },
  {
    title: "a Deployment that waits for the end of a pod which a finalizer holds",
    yaml: deployment("web", `{containers: [{name: c, image: "app:1"}]}`).replace(
      "metadata: {labels: {app: web}}",
      "metadata: {labels: {app: web}, finalizers: [example.com/drain]}",
    ),
    breaks: (cluster) => cluster.kubectl("delete deployment web --cascade=foreground --wait=false"),
    ask: "deployment/web",
    cause: "held-by-finalizer",
    says: /Pod default\/web-\S+ has been deleted for \S+ and is held by the finalizer example\.com\/drain/,
  },
]
