/** What the admission plugins do with objects. */
import { type Sent, CORE, IN, post, get, object } from "./sent.ts"
import type { UserName } from "./users.ts"

const SAFE = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
  runAsNonRoot: true,
  seccompProfile: { type: "RuntimeDefault" },
}
const pod = (name: string, container: object = {}, spec: object = {}, metadata: object = {}) =>
  object(
    "Pod",
    name,
    {
      spec: {
        containers: [{ name: "c", image: "good/c:1", securityContext: SAFE, ...container }],
        schedulerName: "nobody",
        ...spec,
      },
    },
    metadata,
  )
const pods = (title: string, namespace: string, made: object, user: UserName = "admin"): Sent =>
  post(title, user, `${CORE}/${namespace}/pods`, made)

export const ADMITTED: readonly Sent[] = [
  pods("a restricted pod", "compared", pod("restricted")),
  pods("a baseline pod", "compared", pod("baseline", { securityContext: {} })),
  pods("a privileged pod", "compared", pod("privileged", { securityContext: { privileged: true } })),
  pods("a privileged pod where the label allows it", "labelled", pod("p", { securityContext: { privileged: true } })),
  pods("a privileged pod in an exempt namespace", "exempt", pod("p", { securityContext: { privileged: true } })),
  pods(
    "a privileged pod of an exempt user",
    "compared",
    pod("exempted", { securityContext: { privileged: true } }),
    "token jane",
  ),
  pods("a pod of a runtime class that is absent", "compared", pod("sealed", {}, { runtimeClassName: "sealed" })),
  post("a deployment of privileged pods", "admin", "/apis/apps/v1/namespaces/compared/deployments", {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "privileged" },
    spec: {
      replicas: 0,
      selector: { matchLabels: { a: "b" } },
      template: {
        metadata: { labels: { a: "b" } },
        spec: { containers: [{ name: "c", image: "good/c", securityContext: { privileged: true } }] },
      },
    },
  }),
  pods("a bad image", "compared", pod("bad-image", { image: "bad/c:1" })),
  pods("an image never to be pulled", "compared", pod("never-pulled", { imagePullPolicy: "Never" })),
  pods("a pod that wants another disk", "compared", pod("disk", {}, { nodeSelector: { disk: "tape" } })),
  pods("a pod that wants the default disk", "compared", pod("disk-too", {}, { nodeSelector: { disk: "ssd", a: "b" } })),
  pods("a pod in a namespace with a list", "selected", pod("listed", {}, { nodeSelector: { zone: "a" } })),
  pods("a pod in a namespace with a list, elsewhere", "selected", pod("unlisted", {}, { nodeSelector: { zone: "c" } })),
  pods("a pod in a namespace with its own selector", "annotated", pod("own")),
  pods(
    "a pod that tolerates what is allowed",
    "compared",
    pod("tolerates", {}, { tolerations: [{ key: "allowed", operator: "Equal", value: "yes" }] }),
  ),
  pods(
    "a pod that tolerates too much",
    "compared",
    pod("tolerates-all", {}, { tolerations: [{ operator: "Exists" }] }),
  ),
  pods("a pod with its namespace's tolerations", "tolerant", pod("own", {}, { nodeSelector: {} })),
  pods(
    "a pod with an extended resource",
    "compared",
    pod("gpu", { resources: { limits: { "acme.com/gpu": "1" }, requests: { "acme.com/gpu": "1" } } }),
  ),
  pods(
    "a pod with anti-affinity by zone",
    "compared",
    pod(
      "spread",
      {},
      {
        affinity: {
          podAntiAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              { topologyKey: "topology.kubernetes.io/zone", labelSelector: { matchLabels: { a: "b" } } },
            ],
          },
        },
      },
    ),
  ),
  post(
    "an object in a namespace that is absent",
    "admin",
    `${CORE}/made-by-need/configmaps`,
    object("ConfigMap", "first"),
  ),
  get("the namespace that was absent", "admin", `${CORE}/made-by-need`),
  post("a service with an external address", "admin", `${IN}/services`, {
    ...object("Service", "external"),
    spec: { ports: [{ port: 80 }], externalIPs: ["10.1.1.1"], clusterIP: "None" },
  }),
  post("a load balancer without a quota", "admin", `${IN}/services`, {
    ...object("Service", "balanced"),
    spec: { ports: [{ port: 80 }], type: "LoadBalancer" },
  }),
  post(
    "an owner that the user may not delete",
    "token jane",
    `${IN}/configmaps`,
    object(
      "ConfigMap",
      "allowed-owned",
      {},
      {
        ownerReferences: [{ apiVersion: "apps/v1", kind: "Deployment", name: "d", uid: "1", blockOwnerDeletion: true }],
      },
    ),
  ),
  ...["first", "second"].map((name) =>
    post(`the ${name} event about an object`, "token jane", `${IN}/events`, {
      ...object("Event", name),
      involvedObject: { kind: "Pod", namespace: "compared", name: "p" },
      source: { component: "test" },
      type: "Normal",
      reason: "Test",
      message: "a test",
    }),
  ),
  post(
    "an exempt user's forbidden write",
    "token john",
    `${IN}/pods`,
    pod("forbidden", { securityContext: { privileged: true } }),
  ),
  {
    ...get("a pod as a table", "token jane", `${IN}/pods/restricted`),
    headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" },
  },
  {
    ...post("a body that is no JSON", "admin", `${IN}/configmaps`, {}),
    body: "{",
  },
  post("an object of another kind", "admin", `${IN}/configmaps`, object("Secret", "s")),
  post("an object with an unknown field", "admin", `${IN}/configmaps?fieldValidation=Strict`, {
    ...object("ConfigMap", "unknown"),
    datum: {},
  }),
  post("an object that is invalid", "admin", `${IN}/configmaps`, object("ConfigMap", "Not_valid")),
  post("a secret, of which no value is recorded", "admin", `${IN}/secrets`, {
    ...object("Secret", "secret"),
    stringData: { a: "b" },
  }),
  post("a dry run", "admin", `${IN}/configmaps?dryRun=All`, object("ConfigMap", "dry")),
  post("a generated name", "admin", `${IN}/configmaps?dryRun=All`, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "", generateName: "generated-" },
  }),
  post("an eviction of an absent pod", "admin", `${IN}/pods/absent/eviction`, {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { name: "absent" },
  }),
  {
    ...get("deletes a pod with options", "admin", `${IN}/pods/restricted`),
    method: "DELETE",
    body: { apiVersion: "v1", kind: "DeleteOptions", gracePeriodSeconds: 0 },
  },
  { ...get("deletes many", "admin", `${IN}/configmaps?labelSelector=none%3Dsuch`), method: "DELETE" },
  {
    ...post("applies", "admin", `${IN}/configmaps/applied?fieldManager=me&force=true`, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "applied" },
      data: { a: "1" },
    }),
    method: "PATCH",
    headers: { "content-type": "application/apply-patch+yaml" },
  },
  get("endpoints, of which nothing is recorded", "admin", `${IN}/endpoints/absent`),
]
