/** What is recorded of writes of every kind, of what policies and webhooks say about them, and of requests that fail. */
import { type Sent, CORE, get, IN, object, post, setup } from "./sent.ts"

const REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
const registered = (kind: string, name: string, more: object): Sent =>
  setup(
    post(`make ${kind} ${name}`, "admin", `${REGISTRATION}/${kind.toLowerCase().replace(/y$/, "ie")}s`, {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind,
      metadata: { name },
      ...more,
    }),
  )
const CONFIGMAPS = { apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"], operations: ["CREATE", "UPDATE"] }
const named = (prefix: string) => [{ name: "named", expression: `object.metadata.name.startsWith('${prefix}')` }]
const within = (namespace: string) => ({
  matchResources: { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } } },
})
const webhook = (name: string, path: string, more: object = {}) => ({
  name: `${name}.acme.com`,
  clientConfig: { url: `WEBHOOKS${path}`, caBundle: "WEBHOOKS_CA" },
  rules: [CONFIGMAPS],
  objectSelector: { matchLabels: { hooked: "yes" } },
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
  ...more,
})

/** Made first: a server of Kubernetes takes a second to know policies and webhooks. */
export const REGISTERED: readonly Sent[] = [
  registered("ValidatingAdmissionPolicy", "judge", {
    spec: {
      matchConstraints: { resourceRules: [CONFIGMAPS] },
      matchConditions: named("judged"),
      validations: [
        { expression: "!has(object.data) || !('bad' in object.data)", message: "no bad data", reason: "Forbidden" },
        {
          expression: "object.metadata.name != 'judged-long'",
          messageExpression: "'too long: ' + object.metadata.name",
        },
      ],
      auditAnnotations: [
        { key: "size", valueExpression: "string(has(object.data) ? size(object.data) : 0)" },
        { key: "never", valueExpression: "null" },
      ],
    },
  }),
  registered("ValidatingAdmissionPolicyBinding", "judge-audits", {
    spec: { policyName: "judge", validationActions: ["Warn", "Audit"], ...within("compared") },
  }),
  registered("ValidatingAdmissionPolicyBinding", "judge-denies", {
    spec: { policyName: "judge", validationActions: ["Deny"], ...within("exempt") },
  }),
  registered("MutatingWebhookConfiguration", "hooks", { webhooks: [webhook("mutate", "/mutate")] }),
  registered("ValidatingWebhookConfiguration", "checks", {
    webhooks: [webhook("validate", "/validate"), webhook("ignored", "/broken", { failurePolicy: "Ignore" })],
  }),
]

const MERGE = "application/merge-patch+json"
const maps = `${IN}/configmaps`
const map = (name: string, data: object = {}, metadata: object = {}) => object("ConfigMap", name, { data }, metadata)
const hooked = { labels: { hooked: "yes" } }
const changed = (
  title: string,
  method: string,
  path: string,
  body: object | string,
  type = "application/json",
): Sent => ({
  ...post(title, "admin", path, {}),
  method,
  body,
  headers: { "content-type": type },
})
const DEPLOYMENT = "/apis/apps/v1/namespaces/compared/deployments/audited"

export const AUDITED: readonly Sent[] = [
  post("a policy's audit annotation", "admin", maps, map("judged-good", { a: "1", b: "2" })),
  post("a policy that warns and audits", "admin", maps, map("judged-bad", { bad: "1" })),
  post("two faults by a policy that warns and audits", "admin", maps, map("judged-long", { bad: "1" })),
  post("a policy that denies", "admin", `${CORE}/exempt/configmaps`, map("judged-bad", { bad: "1" })),
  post("a policy that denies by an expression", "admin", `${CORE}/exempt/configmaps`, map("judged-long")),
  changed("an update that a policy audits", "PUT", `${maps}/judged-good`, map("judged-good", { bad: "1" })),
  changed("a patch that a policy audits", "PATCH", `${maps}/judged-good`, { data: { bad: "2" } }, MERGE),
  post("webhooks that change and check", "admin", maps, map("hooked", {}, hooked)),
  post("a webhook that denies", "admin", maps, map("hooked-denied", {}, hooked)),
  changed("an update by way of webhooks", "PUT", `${maps}/hooked`, map("hooked", { c: "d" }, hooked)),
  post("an object that is there", "admin", maps, map("judged-good")),
  changed(
    "an update of an old version",
    "PUT",
    `${maps}/judged-good`,
    map("judged-good", {}, { resourceVersion: "1" }),
  ),
  changed("an update of another name", "PUT", `${maps}/judged-good`, map("other-name")),
  changed(
    "an update in another namespace",
    "PUT",
    `${maps}/judged-good`,
    map("judged-good", {}, { namespace: "strict" }),
  ),
  changed("an update of another uid", "PUT", `${maps}/judged-good`, map("judged-good", {}, { uid: "none" })),
  changed("an update of what is absent", "PUT", `${maps}/absent`, map("absent")),
  changed(
    "a JSON patch",
    "PATCH",
    `${maps}/judged-good`,
    [{ op: "add", path: "/data/c", value: "3" }],
    "application/json-patch+json",
  ),
  changed(
    "a JSON patch whose test fails",
    "PATCH",
    `${maps}/judged-good`,
    [{ op: "test", path: "/data/c", value: "4" }],
    "application/json-patch+json",
  ),
  changed("a JSON patch that is none", "PATCH", `${maps}/judged-good`, { a: 1 }, "application/json-patch+json"),
  changed(
    "a strategic patch",
    "PATCH",
    `${maps}/judged-good`,
    { data: { c: null } },
    "application/strategic-merge-patch+json",
  ),
  changed("a patch of no known type", "PATCH", `${maps}/judged-good`, "a: b", "text/plain"),
  changed("a patch that is no JSON", "PATCH", `${maps}/judged-good`, "{", MERGE),
  changed("a patch of what is absent", "PATCH", `${maps}/absent`, { data: {} }, MERGE),
  changed(
    "an applied conflict",
    "PATCH",
    `${maps}/applied?fieldManager=another`,
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "applied" }, data: { a: "2" } },
    "application/apply-patch+yaml",
  ),
  changed("an application without a manager", "PATCH", `${maps}/applied`, "{}", "application/apply-patch+yaml"),
  changed(
    "an object in YAML",
    "POST",
    maps,
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: in-yaml}\n",
    "application/yaml",
  ),
  changed("an object of no known type", "POST", maps, "a", "text/csv"),
  changed("an empty body", "POST", maps, ""),
  post("an object without a name", "admin", maps, { apiVersion: "v1", kind: "ConfigMap", metadata: {} }),
  post("an object of another namespace", "admin", maps, map("elsewhere", {}, { namespace: "strict" })),
  post("an object of another version", "admin", maps, { ...map("version"), apiVersion: "v2" }),
  { ...get("an answer in no known type", "admin", `${maps}/judged-good`), headers: { accept: "text/csv" } },
  {
    ...get("metadata alone", "admin", `${maps}/judged-good`),
    headers: { accept: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1" },
  },
  get("a list from a token that is none", "admin", `${maps}?limit=1&continue=abc`),
  get("a list by a selector that is none", "admin", `${maps}?labelSelector=a%3D%3D%3Db`),
  get("a list by a field that is none", "admin", `${maps}?fieldSelector=data.a%3D1`),
  get("a read of an older version than asked for", "admin", `${maps}/judged-good?resourceVersion=abc`),
  get("a resource that is absent", "admin", "/apis/apps/v1/namespaces/compared/absents/a"),
  get("a subresource that is absent", "admin", `${maps}/judged-good/status`),
  { ...get("a method that a resource has not", "admin", maps), method: "PUT" },
  post("a deployment", "admin", DEPLOYMENT.replace("/audited", ""), {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "audited" },
    spec: {
      replicas: 0,
      selector: { matchLabels: { a: "b" } },
      template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "good/c" }] } },
    },
  }),
  get("the scale of a deployment", "admin", `${DEPLOYMENT}/scale`),
  changed("a scale that is negative", "PATCH", `${DEPLOYMENT}/scale`, { spec: { replicas: -1 } }, MERGE),
  changed(
    "a selector that cannot change",
    "PATCH",
    DEPLOYMENT,
    { spec: { selector: { matchLabels: { c: "d" } } } },
    MERGE,
  ),
  post("a binding of an absent pod", "admin", `${IN}/pods/absent/binding`, {
    apiVersion: "v1",
    kind: "Binding",
    metadata: { name: "absent" },
    target: { kind: "Node", name: "n1" },
  }),
  changed(
    "ephemeral containers of an absent pod",
    "PATCH",
    `${IN}/pods/absent/ephemeralcontainers`,
    { spec: {} },
    MERGE,
  ),
  changed("a resize of an absent pod", "PATCH", `${IN}/pods/absent/resize`, { spec: {} }, MERGE),
  post("a token of an absent account", "admin", `${IN}/serviceaccounts/absent/token`, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: {},
  }),
  post("a token that lives too short", "admin", `${IN}/serviceaccounts/default/token`, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    spec: { expirationSeconds: 10 },
  }),
  { ...get("deletes what is absent", "admin", `${maps}/absent`), method: "DELETE" },
  {
    ...post("deletes another uid", "admin", `${maps}/judged-good`, {
      apiVersion: "v1",
      kind: "DeleteOptions",
      preconditions: { uid: "none" },
    }),
    method: "DELETE",
  },
  { ...get("deletes for a try", "admin", `${maps}/judged-good?dryRun=All`), method: "DELETE" },
  {
    ...get("deletes with a policy that is none", "admin", `${maps}/judged-good?propagationPolicy=Some`),
    method: "DELETE",
  },
  { ...get("deletes secrets by a label", "admin", `${IN}/secrets?labelSelector=none%3Dsuch`), method: "DELETE" },
  {
    ...post("mary may not write by john", "token john", maps, map("by-mary")),
    headers: { "Impersonate-User": "mary" },
  },
  {
    ...post("a group may not write by admin", "admin", maps, map("by-group")),
    headers: { "Impersonate-User": "mary", "Impersonate-Group": "g2", "Impersonate-Extra-Team": "red" },
  },
]
