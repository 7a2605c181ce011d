import type { Base } from "./base.ts"

/** Priority and fairness. */

const priorityLevelConfiguration = { name: "n" }
const conditions = [
  { type: "T", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z", reason: "R", message: "m" },
]
/** A controller writes to the status whether the priority level exists. */
const watched = { unversioned: true, volatile: ["status"] } as const
const queuing = { queues: 16, handSize: 4, queueLengthLimit: 10 }

export const FLOWCONTROL_BASES: readonly Base[] = [
  {
    kind: "flowcontrol.apiserver.k8s.io/v1 FlowSchema",
    name: "minimal",
    body: { spec: { priorityLevelConfiguration } },
    ...watched,
  },
  {
    kind: "flowcontrol.apiserver.k8s.io/v1 FlowSchema",
    name: "full",
    body: {
      spec: {
        priorityLevelConfiguration,
        matchingPrecedence: 500,
        distinguisherMethod: { type: "ByUser" },
        rules: [
          {
            subjects: [
              { kind: "User", user: { name: "u" } },
              { kind: "Group", group: { name: "g" } },
              { kind: "ServiceAccount", serviceAccount: { namespace: "n", name: "s" } },
            ],
            resourceRules: [
              {
                verbs: ["get", "watch"],
                apiGroups: ["", "apps"],
                resources: ["pods", "pods/status"],
                namespaces: ["n"],
              },
              { verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"] },
            ],
            nonResourceRules: [
              { verbs: ["get"], nonResourceURLs: ["/healthz", "/apis/*"] },
              { verbs: ["*"], nonResourceURLs: ["*"] },
            ],
          },
        ],
      },
    },
    ...watched,
  },
  {
    kind: "flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration",
    name: "rejecting",
    body: { spec: { type: "Limited", limited: { limitResponse: { type: "Reject" } } } },
  },
  {
    kind: "flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration",
    name: "queueing",
    body: {
      spec: {
        type: "Limited",
        limited: {
          nominalConcurrencyShares: 1,
          limitResponse: { type: "Queue", queuing },
          lendablePercent: 10,
          borrowingLimitPercent: 200,
        },
      },
    },
    status: { conditions },
  },
]
