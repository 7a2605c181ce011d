/**
 * The FlowSchemas and priority levels that every cluster has from its start. The mandatory ones keep flow control
 * working and cannot be changed; the others are suggestions. Source: apiserver
 * pkg/apis/flowcontrol/bootstrap/default.go.
 */
import type {
  FlowSchemaSpec,
  NonResourcePolicyRule,
  PolicyRulesWithSubjects,
  ResourcePolicyRule,
  Subject,
} from "./flowschemaspec.ts"
import type { PriorityLevelConfigurationSpec } from "./prioritylevelconfigurationspec.ts"

export interface BootstrapObject<Spec> {
  readonly name: string
  readonly spec: Spec
  /** Whether the object is mandatory: it is restored after every change and deletion. */
  readonly mandatory: boolean
}

const ALL = ["*"]

const users = (...names: string[]): readonly Subject[] => names.map((name) => ({ kind: "User", user: { name } }))
const groups = (...names: string[]): readonly Subject[] => names.map((name) => ({ kind: "Group", group: { name } }))
const SYSTEM_ACCOUNTS: readonly Subject[] = [
  { kind: "ServiceAccount", serviceAccount: { namespace: "kube-system", name: "*" } },
]
const NODES = groups("system:nodes")
const EVERYBODY = groups("system:unauthenticated", "system:authenticated")

const resources = (
  verbs: readonly string[],
  apiGroup: string,
  plurals: readonly string[],
  clusterScope: boolean,
): ResourcePolicyRule => ({
  verbs,
  apiGroups: [apiGroup],
  resources: plurals,
  ...(clusterScope ? { clusterScope } : {}),
  namespaces: ALL,
})
const paths = (verbs: readonly string[], ...nonResourceURLs: string[]): NonResourcePolicyRule => ({
  verbs,
  nonResourceURLs,
})

/** Returns the rule that matches all requests of these subjects. */
const allOf = (subjects: readonly Subject[]): PolicyRulesWithSubjects => ({
  subjects,
  resourceRules: [resources(ALL, "*", ALL, true)],
  nonResourceRules: [paths(ALL, "*")],
})

function schema(
  name: string,
  level: string,
  matchingPrecedence: number,
  by: "ByUser" | "ByNamespace" | undefined,
  rule: PolicyRulesWithSubjects,
): BootstrapObject<FlowSchemaSpec> {
  return {
    name,
    mandatory: name === "exempt" || name === "catch-all",
    spec: {
      priorityLevelConfiguration: { name: level },
      matchingPrecedence,
      ...(by === undefined ? {} : { distinguisherMethod: { type: by } }),
      rules: [rule],
    },
  }
}

/** In the order of their precedence. */
export const BOOTSTRAP_SCHEMAS: readonly BootstrapObject<FlowSchemaSpec>[] = [
  schema("exempt", "exempt", 1, undefined, allOf(groups("system:masters"))),
  schema("probes", "exempt", 2, undefined, {
    subjects: EVERYBODY,
    nonResourceRules: [paths(["get"], "/healthz", "/readyz", "/livez")],
  }),
  schema("system-leader-election", "leader-election", 100, "ByUser", {
    subjects: [...users("system:kube-controller-manager", "system:kube-scheduler"), ...SYSTEM_ACCOUNTS],
    resourceRules: [resources(["get", "create", "update"], "coordination.k8s.io", ["leases"], false)],
  }),
  schema("system-node-high", "node-high", 400, "ByUser", {
    subjects: NODES,
    resourceRules: [
      resources(ALL, "", ["nodes", "nodes/status"], true),
      resources(ALL, "coordination.k8s.io", ["leases"], false),
    ],
  }),
  schema("system-nodes", "system", 500, "ByUser", allOf(NODES)),
  schema(
    "kube-controller-manager",
    "workload-high",
    800,
    "ByNamespace",
    allOf(users("system:kube-controller-manager")),
  ),
  schema("kube-scheduler", "workload-high", 800, "ByNamespace", allOf(users("system:kube-scheduler"))),
  schema("kube-system-service-accounts", "workload-high", 900, "ByNamespace", allOf(SYSTEM_ACCOUNTS)),
  schema("service-accounts", "workload-low", 9000, "ByUser", allOf(groups("system:serviceaccounts"))),
  schema("global-default", "global-default", 9900, "ByUser", allOf(EVERYBODY)),
  schema("catch-all", "catch-all", 10_000, "ByUser", allOf(EVERYBODY)),
]

function queued(
  name: string,
  nominalConcurrencyShares: number,
  lendablePercent: number,
  queues: number,
  handSize: number,
): BootstrapObject<PriorityLevelConfigurationSpec> {
  const limitResponse = { type: "Queue", queuing: { queues, handSize, queueLengthLimit: 50 } }
  return {
    name,
    mandatory: false,
    spec: { type: "Limited", limited: { nominalConcurrencyShares, limitResponse, lendablePercent } },
  }
}

export const BOOTSTRAP_LEVELS: readonly BootstrapObject<PriorityLevelConfigurationSpec>[] = [
  {
    name: "exempt",
    mandatory: true,
    spec: { type: "Exempt", exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } },
  },
  {
    name: "catch-all",
    mandatory: true,
    spec: {
      type: "Limited",
      limited: { nominalConcurrencyShares: 5, limitResponse: { type: "Reject" }, lendablePercent: 0 },
    },
  },
  queued("system", 30, 33, 64, 6),
  queued("node-high", 40, 25, 64, 6),
  queued("leader-election", 10, 0, 16, 4),
  queued("workload-high", 40, 50, 128, 6),
  queued("workload-low", 100, 90, 128, 6),
  queued("global-default", 20, 50, 128, 6),
]

const mandatoryIn =
  <Spec>(objects: readonly BootstrapObject<Spec>[]) =>
  (wanted: string): Spec | undefined =>
    objects.find(({ name, mandatory }) => mandatory && name === wanted)?.spec

/** Returns the required spec of the FlowSchema with this name; undefined if it is not mandatory. */
export const mandatorySchemaSpec = mandatoryIn(BOOTSTRAP_SCHEMAS)
/** Returns the required spec of the priority level with this name; undefined if it is not mandatory. */
export const mandatoryLevelSpec = mandatoryIn(BOOTSTRAP_LEVELS)
