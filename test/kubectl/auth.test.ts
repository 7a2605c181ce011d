import { afterAll, beforeAll, describe } from "bun:test"
import { startCluster, type Cluster } from "../../components/cluster/testing/testing.ts"
import recorded from "./auth.recorded.json"
import reconciled from "./reconcile.recorded.json"
import { steps, type Step } from "./steps.fixtures.ts"

let c: Cluster
beforeAll(async () => {
  c = await startCluster({ nodes: 1 })
})
afterAll(() => c.stop())

/** Command lines, one after another, with what kubectl 1.36.2 says and the code it ends with. */
const ROWS = recorded as unknown as readonly Step[]

const ROLE_WITHOUT_NAMESPACE = `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: testing-R}
rules:
- {apiGroups: [""], resources: [pods], verbs: [get]}
`

const FILES = {
  "rbac.yaml": `apiVersion: v1
kind: List
items:
- apiVersion: rbac.authorization.k8s.io/v1
  kind: ClusterRole
  metadata: {labels: {test-cmd: auth}, name: testing-CR}
  rules:
  - {apiGroups: [""], resources: [pods], verbs: [create, delete]}
  - {nonResourceURLs: ["/foo/*"], verbs: [get]}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: Role
  metadata: {labels: {test-cmd: auth}, name: testing-R, namespace: some-other-random}
  rules:
  - {apiGroups: [""], resources: [configmaps], verbs: [get, list], resourceNames: [a, b]}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: ClusterRoleBinding
  metadata: {labels: {test-cmd: auth}, name: testing-CRB}
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: testing-CR}
  subjects:
  - {apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:masters"}
  - {kind: User, name: jane}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleBinding
  metadata: {labels: {test-cmd: auth}, name: testing-RB, namespace: some-other-random}
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: testing-R}
  subjects:
  - {kind: ServiceAccount, name: sa, namespace: default}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: ignored}
`,
  "rbac2.yaml": `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: testing-CR, annotations: {a: b}}
rules:
- {apiGroups: ["", apps], resources: [pods, pods/log], verbs: [create, get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: testing-CRB}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: other}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: bob}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {labels: {more: x}, name: testing-RB, namespace: some-other-random}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: testing-R}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: bob}
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: bob}
`,
  "agg.yaml": `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: agg}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {x: why}}]}
rules: []
`,
  "agg2.yaml": `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: agg}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {x: z}}]}
`,
  "beta.yaml": `apiVersion: rbac.authorization.k8s.io/v1beta1
kind: Role
metadata: {name: x}
rules: []
`,
}

const NO_NAMESPACE = "error: an empty namespace may not be set when a resource name is provided\n"

/**
 * What upstream says of a role without a namespace, though the command line has one: it asks for the namespaces of
 * kinds nowhere. Of such a binding it panics.
 */
const WITHOUT_NAMESPACE: readonly Step[] = [
  ["auth reconcile -f role.yaml", NO_NAMESPACE, 1],
  ["auth reconcile -f role.yaml -n default", NO_NAMESPACE, 1],
  ["auth reconcile -f role.yaml --dry-run=client", NO_NAMESPACE, 1],
  ["auth reconcile -f binding.yaml", NO_NAMESPACE, 1],
  ["auth reconcile -f nameless.yaml", "error: resource name may not be empty\n", 1],
  ["get roles,rolebindings testing-R testing-RB --ignore-not-found", ""],
]
const FILES_WITHOUT_NAMESPACE = {
  "role.yaml": ROLE_WITHOUT_NAMESPACE,
  "nameless.yaml": ROLE_WITHOUT_NAMESPACE.replace("name: testing-R", "namespace: default"),
  "binding.yaml": `apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: testing-RB}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: testing-R}
`,
}

/** The same for roles and bindings of files. */
const RECONCILE_ROWS = reconciled as unknown as readonly Step[]

describe("kubectl auth", () => {
  steps("answers every command line as kubectl does", () => c, ROWS)
  steps("reconciles roles and bindings as kubectl does", () => c, RECONCILE_ROWS, FILES)
  steps("reconciles no role without a namespace", () => c, WITHOUT_NAMESPACE, FILES_WITHOUT_NAMESPACE)
})
