/** What the authorizers decide. */
import { AUDIENCE } from "./files.ts"
import { type Sent, CORE, IN, AUTHORIZATION, post, get, object, setup } from "./sent.ts"

export const DECIDED: readonly Sent[] = [
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
