import { Pod } from "../../components/cluster/testing/testing.ts"
import { asking, deployment, type Situation } from "./situation.fixtures.ts"

const ONE = `{containers: [{name: c, image: "app:1"}]}`
/** A webhook about new pods, behind the Service guard. */
const HOOK = `
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: guard}
webhooks: [{name: guard.example.com, clientConfig: {service: {name: guard, namespace: default}}, rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}], admissionReviewVersions: [v1], sideEffects: None}]
`
const SERVICE = `
---
apiVersion: v1
kind: Service
metadata: {name: guard}
spec: {selector: {app: guard}, ports: [{port: 443}]}
`
const quits = (...logs: readonly string[]) => ({ runsMs: 500, exitCode: 1, logs })
const binding = (role: string, namespace: string): string => `
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: web}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: ${role}}
subjects: [{kind: ServiceAccount, name: default, namespace: ${namespace}}]
`

export const REFUSALS: readonly Situation[] = [
  {
    title: "a webhook whose certificate caBundle does not have",
    yaml: HOOK,
    breaks: (cluster) => cluster.apply(deployment("web", ONE)),
    ask: "deployment/web",
    cause: "webhook-certificate",
    says: /guard\.example\.com must be asked about a pod and its certificate is not accepted: none of the authorities in caBundle of ValidatingWebhookConfiguration guard/,
    options: {
      nodes: 1,
      webhooks: {
        "default/guard"() {
          throw new Error("tls: failed to verify certificate: x509: certificate signed by unknown authority")
        },
      },
    },
  },
  {
    title: "a webhook that does not answer in time",
    yaml: HOOK,
    breaks: (cluster) => cluster.apply(deployment("web", ONE)),
    ask: "deployment/web",
    cause: "webhook-timeout",
    says: /must be asked about a pod and does not answer in time/,
    options: { nodes: 1, webhooks: { "default/guard": () => new Promise<boolean>(() => {}) } },
  },
  {
    title: "a webhook whose server crashes",
    yaml: deployment("guard", `{containers: [{name: c, image: "guard:1"}]}`) + SERVICE,
    breaks: async (cluster) => {
      await cluster.apply(HOOK)
      await cluster.apply(deployment("web", ONE))
    },
    ask: "deployment/web",
    cause: "exits-with-error",
    says: /exit code 1; its last line: no certificate/,
    options: { nodes: 1, images: { "guard:1": quits("no certificate") } },
  },
  {
    title: "a webhook that must be asked about its own pods",
    yaml: SERVICE + HOOK,
    breaks: (cluster) => cluster.apply(deployment("guard", ONE)),
    ask: "deployment/guard",
    cause: "webhook-deadlock",
    says: /its own server is not there: Service default\/guard leads to these pods, which cannot be created without it/,
  },
  {
    title: "a quota of the pods that request nothing",
    yaml: `
apiVersion: v1
kind: ResourceQuota
metadata: {name: best}
spec: {hard: {pods: "0"}, scopes: [BestEffort]}
${deployment("web", ONE)}`,
    ask: "deployment/web",
    cause: "quota-exceeded",
    says: /ResourceQuota default\/best does not allow a pod/,
  },
  {
    title: "a LimitRange of the ratio of limit and request",
    yaml: `
apiVersion: v1
kind: LimitRange
metadata: {name: even}
spec: {limits: [{type: Container, maxLimitRequestRatio: {cpu: "2"}}]}
${deployment("web", `{containers: [{name: c, image: "app:1", resources: {requests: {cpu: 250m}, limits: {cpu: "1"}}}]}`)}`,
    ask: "deployment/web",
    cause: "limit-range",
    says: /cpu max limit to request ratio per Container is 2, but provided ratio is 4/,
  },
  {
    title: "a binding to a role that does not exist",
    yaml: binding("readr", "default"),
    breaks: asking(Pod),
    ask: "deployment/web",
    cause: "right-missing",
    says: /RoleBinding default\/web names Role readr, which does not exist/,
    mends: 1,
    tried: "not-known",
  },
  {
    title: "a binding of the account of another namespace",
    yaml: `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [pods], verbs: [list]}]
${binding("reader", "defualt")}`,
    breaks: asking(Pod),
    ask: "deployment/web",
    cause: "right-missing",
    says: /Role reader has it, and is not bound to it; RoleBinding default\/web binds it to the account defualt\/default/,
    mends: 1,
    tried: "not-known",
  },
  {
    title: "a pod that two disruption budgets select",
    yaml:
      deployment("web", ONE).replace("replicas: 1", "replicas: 3") +
      ["a", "b"]
        .map(
          (name) => `
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: ${name}}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}
`,
        )
        .join(""),
    breaks: (cluster) => cluster.kubectl("cordon node-0"),
    ask: "node/node-0",
    cause: "drain-blocked",
    says: /PodDisruptionBudgets a and b select it, and a pod with more than one is not evicted/,
    options: { nodes: 1 },
  },
]
