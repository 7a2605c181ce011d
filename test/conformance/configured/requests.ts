/** The requests that both servers get. Their order counts: what some write, others read. */
import { AUDIENCE } from "./files.ts"
import type { UserName } from "./users.ts"

export interface Sent {
  readonly title: string
  readonly user: UserName
  readonly method: string
  readonly path: string
  readonly body?: object | string
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /** The answer may be of either kind, for instance since the server's own controllers may have been first. */
  readonly setup?: true
  /** A webhook fails several times, or a watch has to end: sent with others of this kind when all else is done. */
  readonly isSlow?: true
}

const CORE = "/api/v1/namespaces"
const IN = `${CORE}/compared`
const SELF = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
const AUTHORIZATION = "/apis/authorization.k8s.io/v1"

const post = (title: string, user: UserName, path: string, body: object): Sent => ({
  title,
  user,
  method: "POST",
  path,
  body,
})
const get = (title: string, user: UserName, path: string): Sent => ({ title, user, method: "GET", path })
const object = (kind: string, name: string, more: object = {}, metadata: object = {}) => ({
  apiVersion: "v1",
  kind,
  metadata: { name, ...metadata },
  ...more,
})
const rbac = (kind: string, name: string, more: object) => ({
  ...object(kind, name, more),
  apiVersion: "rbac.authorization.k8s.io/v1",
})
const RBAC = "/apis/rbac.authorization.k8s.io/v1"
const bound = (role: string, ...subjects: [kind: string, name: string][]) =>
  rbac("ClusterRoleBinding", role, {
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
    subjects: subjects.map(([kind, name]) => ({ apiGroup: "rbac.authorization.k8s.io", kind, name })),
  })
const setup = (request: Sent): Sent => ({ ...request, setup: true })
const whoami = (user: UserName, title = "", headers?: Sent["headers"]): Sent => ({
  ...post(`who is ${user}${title}`, user, SELF, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "SelfSubjectReview",
  }),
  ...(headers === undefined ? {} : { headers }),
})

const NAMESPACES: readonly Sent[] = [
  ["compared", {}],
  ["strict", {}],
  ["exempt", {}],
  ["selected", {}],
  ["labelled", { labels: { "pod-security.kubernetes.io/enforce": "privileged" } }],
  ["annotated", { annotations: { "scheduler.alpha.kubernetes.io/node-selector": "zone=b,disk=hdd" } }],
  [
    "tolerant",
    {
      annotations: {
        "scheduler.alpha.kubernetes.io/defaultTolerations": '[{"key":"own","operator":"Exists"}]',
        "scheduler.alpha.kubernetes.io/tolerationsWhitelist": '[{"key":"own","operator":"Exists"}]',
      },
    },
  ],
].flatMap(([name, metadata]): Sent[] => [
  setup(
    post(`make namespace ${String(name)}`, "admin", CORE, object("Namespace", String(name), {}, metadata as object)),
  ),
  setup(
    post(
      `make its account ${String(name)}`,
      "admin",
      `${CORE}/${String(name)}/serviceaccounts`,
      object("ServiceAccount", "default"),
    ),
  ),
])

const RIGHTS: readonly Sent[] = [
  rbac("ClusterRole", "reader", {
    rules: [{ apiGroups: [""], resources: ["configmaps", "pods"], verbs: ["get", "list"] }],
  }),
  rbac("ClusterRole", "pod-maker", {
    rules: [
      { apiGroups: [""], resources: ["pods", "services", "events", "configmaps"], verbs: ["*"] },
      { nonResourceURLs: ["/healthz/*"], verbs: ["get"] },
    ],
  }),
  rbac("ClusterRole", "impersonator", {
    rules: [
      { apiGroups: [""], resources: ["users"], resourceNames: ["mary"], verbs: ["impersonate"] },
      { apiGroups: [""], resources: ["groups"], resourceNames: ["g1"], verbs: ["impersonate"] },
      { apiGroups: ["authentication.k8s.io"], resources: ["uids"], resourceNames: ["42"], verbs: ["impersonate"] },
      {
        apiGroups: ["authentication.k8s.io"],
        resources: ["userextras/team"],
        resourceNames: ["red"],
        verbs: ["impersonate"],
      },
      { apiGroups: [""], resources: ["serviceaccounts"], verbs: ["impersonate"] },
    ],
  }),
  bound("reader", ["Group", "developers"], ["Group", "oidc:dev"], ["User", "mary"], ["Group", "g1"]),
  bound("pod-maker", ["User", "jane"], ["User", "carl"], ["User", "cel:eve@acme.com"]),
  bound("impersonator", ["User", "john"]),
].map((made) => post(`make ${made.kind} ${made.metadata.name}`, "admin", `${RBAC}/${made.kind.toLowerCase()}s`, made))

const USERS: readonly Sent[] = (
  [
    "admin",
    "nobody",
    "token jane",
    "token john",
    "token #hash",
    "token unknown",
    "token of no form",
    "basic password",
    "lower-case bearer",
    "certificate carl",
    "certificate of a node",
    "certificate without name",
    "certificate and token",
    "certificate and wrong token",
    "proxied paula",
    "proxied with all",
    "proxied without user",
    "proxied, and a token",
    "proxied by another proxy",
    "headers without proxy",
    "provider's jane",
    "provider's groups as one text",
    "provider's groups as a number",
    "provider's expired token",
    "provider's token of the future",
    "provider's token for others",
    "provider's token without claim",
    "provider's token without name",
    "provider's token by another key",
    "expressed eve",
    "expressed with all",
    "expressed without address",
    "expressed with unverified address",
    "expressed root",
    "expressed with a group of the system",
    "expressed with an empty tenant",
    "webhook's jane",
    "webhook's plain",
    "webhook's for another audience",
    "webhook's refused",
    "webhook's nameless",
    "webhook's failure",
    "service-account",
    "service-account for others",
  ] as const
).map((user) => whoami(user))

const IMPERSONATED: readonly Sent[] = [
  whoami("admin", " as mary", { "Impersonate-User": "mary" }),
  whoami("admin", " as mary with all", {
    "Impersonate-User": "mary",
    "Impersonate-Group": ["g1", "g2"],
    "Impersonate-Uid": "42",
    "Impersonate-Extra-Team": ["red", "blue"],
    "Impersonate-Extra-Acme.com%2fScope": "x",
  }),
  whoami("admin", " as an account", { "Impersonate-User": "system:serviceaccount:compared:default" }),
  whoami("admin", " as nobody", { "Impersonate-User": "system:anonymous" }),
  whoami("admin", " as a node", { "Impersonate-User": "system:node:n1", "Impersonate-Group": "system:nodes" }),
  whoami("admin", " as a group alone", { "Impersonate-Group": "g1" }),
  whoami("admin", " as a uid alone", { "Impersonate-Uid": "42" }),
  whoami("admin", " as extra alone", { "Impersonate-Extra-Team": "red" }),
  whoami("admin", " as an empty user", { "Impersonate-User": "" }),
  whoami("token john", " as mary", { "Impersonate-User": "mary" }),
  whoami("token john", " as mark", { "Impersonate-User": "mark" }),
  whoami("token john", " as mary of g1", { "Impersonate-User": "mary", "Impersonate-Group": "g1" }),
  whoami("token john", " as mary of g2", { "Impersonate-User": "mary", "Impersonate-Group": "g2" }),
  whoami("token john", " as mary with uid 42", { "Impersonate-User": "mary", "Impersonate-Uid": "42" }),
  whoami("token john", " as mary with uid 43", { "Impersonate-User": "mary", "Impersonate-Uid": "43" }),
  whoami("token john", " as mary in team red", { "Impersonate-User": "mary", "Impersonate-Extra-Team": "red" }),
  whoami("token john", " as mary in team blue", { "Impersonate-User": "mary", "Impersonate-Extra-Team": "blue" }),
  whoami("token john", " as an account", { "Impersonate-User": "system:serviceaccount:compared:default" }),
  whoami("token jane", " as mary", { "Impersonate-User": "mary" }),
  whoami("nobody", " as mary", { "Impersonate-User": "mary" }),
  {
    ...get("mary reads by john", "token john", `${IN}/configmaps/absent`),
    headers: { "Impersonate-User": "mary" },
  },
  {
    ...get("mary may not read secrets by john", "token john", `${IN}/secrets`),
    headers: { "Impersonate-User": "mary" },
  },
]

const PATHS: readonly Sent[] = (
  ["nobody", "token john", "certificate carl", "webhook's plain", "token unknown"] as const
).flatMap((user) =>
  [
    "/livez",
    "/version",
    "/healthz",
    "/healthz/ping",
    "/metrics",
    "/api",
    "/apis",
    "/openapi/v2",
    "/absent",
    "/api/v1/nodes",
  ]
    .filter((path) => !(path.startsWith("/openapi") || path === "/metrics") || user !== "token unknown")
    .map((path) => get(`${user} asks for ${path}`, user, path)),
)

const DECIDED: readonly Sent[] = [
  setup(post("make allowed", "admin", `${IN}/configmaps`, object("ConfigMap", "allowed", { data: { a: "1" } }))),
  setup(post("make allowed-request", "admin", `${IN}/configmaps`, object("ConfigMap", "allowed-request"))),
  setup(post("make denied", "admin", `${IN}/configmaps`, object("ConfigMap", "denied"))),
  ...["allowed", "allowed-request", "denied", "error", "broken", "other"].flatMap((name) => [
    get(`john reads ${name}`, "token john", `${IN}/configmaps/${name}`),
    get(`jane reads ${name}`, "token jane", `${IN}/configmaps/${name}`),
  ]),
  get("admin reads denied", "admin", `${IN}/configmaps/denied`),
  get("john lists", "token john", `${IN}/configmaps`),
  get("jane lists", "token jane", `${IN}/configmaps?labelSelector=a%3Db`),
  get("john reads in strict", "token john", `${CORE}/strict/configmaps/a`),
  get("jane reads in strict", "token jane", `${CORE}/strict/configmaps/a`),
  get("admin reads in strict", "admin", `${CORE}/strict/configmaps/a`),
  get("jane lists everywhere", "token jane", "/api/v1/configmaps?labelSelector=a%3Db"),
  get("john lists everywhere", "token john", "/api/v1/configmaps?limit=1"),
  get("john reads logs", "token john", `${IN}/pods/p/log`),
  get("john proxies", "token john", `${IN}/services/s/proxy/a/b`),
  get("john reads a custom resource", "token john", "/apis/acme.com/v1/things"),
  get("node reads a secret", "certificate of a node", `${IN}/secrets/s`),
  get("node reads its node", "certificate of a node", "/api/v1/nodes/n1"),
  get("node reads another node", "certificate of a node", "/api/v1/nodes/n2"),
  post("node makes another node", "certificate of a node", "/api/v1/nodes", object("Node", "n2")),
  {
    ...get("john deletes", "token john", `${IN}/configmaps/other`),
    method: "DELETE",
  },
  { ...get("john deletes all", "token john", `${IN}/configmaps`), method: "DELETE" },
  {
    ...post("john patches allowed", "token john", `${IN}/configmaps/allowed`, { data: { b: "2" } }),
    method: "PATCH",
    headers: { "content-type": "application/merge-patch+json" },
  },
  get(
    "john watches",
    "token john",
    `${IN}/configmaps?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dallowed`,
  ),
  get(
    "jane watches",
    "token jane",
    `${IN}/configmaps?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dallowed&resourceVersion=0`,
  ),
  ...(
    [
      ["jane", ["developers"], "compared", "configmaps", "other"],
      ["john", [], "compared", "configmaps", "allowed"],
      ["john", [], "compared", "configmaps", "denied"],
      ["john", [], "compared", "configmaps", "error"],
      ["john", [], "compared", "configmaps", "broken"],
      ["john", [], "strict", "configmaps", "x"],
      ["john", [], "default", "configmaps", "x"],
      ["system:node:n1", ["system:nodes"], "compared", "secrets", "x"],
      ["any", ["system:masters"], "strict", "configmaps", "x"],
    ] as const
  ).map(([user, groups, namespace, resource, name]) =>
    post(
      `may ${user} get ${name} in ${namespace}`,
      "admin",
      `${AUTHORIZATION}/subjectaccessreviews`,
      review("SubjectAccessReview", {
        user,
        groups,
        resourceAttributes: { namespace, verb: "get", resource, name },
      }),
    ),
  ),
  post(
    "may john get /metrics",
    "admin",
    `${AUTHORIZATION}/subjectaccessreviews`,
    review("SubjectAccessReview", { user: "john", nonResourceAttributes: { path: "/metrics", verb: "get" } }),
  ),
  post(
    "may nobody in particular",
    "admin",
    `${AUTHORIZATION}/subjectaccessreviews`,
    review("SubjectAccessReview", { nonResourceAttributes: { path: "/metrics", verb: "get" } }),
  ),
  post(
    "may jane list herself",
    "token jane",
    `${AUTHORIZATION}/selfsubjectaccessreviews`,
    review("SelfSubjectAccessReview", {
      resourceAttributes: {
        namespace: "compared",
        verb: "list",
        resource: "configmaps",
        labelSelector: { requirements: [{ key: "a", operator: "In", values: ["b"] }] },
      },
    }),
  ),
  post(
    "may jane in another namespace than the path's",
    "admin",
    `/apis/authorization.k8s.io/v1/namespaces/compared/localsubjectaccessreviews`,
    review("LocalSubjectAccessReview", {
      user: "jane",
      resourceAttributes: { namespace: "strict", verb: "get", resource: "pods" },
    }),
  ),
  ...(
    [
      ["token john", "compared"],
      ["token jane", "compared"],
      ["token jane", "strict"],
      ["token jane", "default"],
      ["provider's jane", "compared"],
      ["certificate carl", "default"],
      ["certificate of a node", "default"],
      ["service-account", "compared"],
      ["admin", "default"],
    ] as const
  ).map(([user, namespace]) =>
    post(
      `what may ${user} do in ${namespace}`,
      user,
      `${AUTHORIZATION}/selfsubjectrulesreviews`,
      review("SelfSubjectRulesReview", { namespace }),
    ),
  ),
  ...["token-jane", "token-unknown", "webhook-jane", "webhook-refused", "webhook-other-audience"].map((token) =>
    post(`whose is ${token}`, "admin", "/apis/authentication.k8s.io/v1/tokenreviews", {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenReview",
      spec: { token },
    }),
  ),
  post("whose is token-jane, for others", "admin", "/apis/authentication.k8s.io/v1/tokenreviews", {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenReview",
    spec: { token: "token-jane", audiences: ["elsewhere"] },
  }),
  post("whose is token-jane, for this server too", "admin", "/apis/authentication.k8s.io/v1/tokenreviews", {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenReview",
    spec: { token: "token-jane", audiences: ["elsewhere", AUDIENCE] },
  }),
]

function review(kind: string, spec: object) {
  return { apiVersion: "authorization.k8s.io/v1", kind, spec }
}

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

const ADMITTED: readonly Sent[] = [
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

const SLOW = /webhook's failure|broken|in strict$|watches$/
export const REQUESTS: readonly Sent[] = [
  ...NAMESPACES,
  ...RIGHTS,
  ...USERS,
  ...IMPERSONATED,
  ...PATHS,
  ...DECIDED,
  ...ADMITTED,
].map((sent) => (SLOW.test(sent.title) && sent.setup !== true ? { ...sent, isSlow: true } : sent))
