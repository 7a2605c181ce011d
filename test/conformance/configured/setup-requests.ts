/** What the other requests need: namespaces with accounts, and rights of the users. */
import { bound, CORE, object, post, rbac, RBAC, setup, type Sent } from "./sent.ts"

export const NAMESPACES: readonly Sent[] = [
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

export const RIGHTS: readonly Sent[] = [
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
