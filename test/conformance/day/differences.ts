/** A pattern of lines, and why they differ. docs/compatibility.md tells the same to users. */
export type Difference = readonly [pattern: RegExp, why: string]

/** Writes that only k3ts or only Kubernetes makes. */
export const DIFFERENT_WRITES: readonly Difference[] = [
  [/^namespace-controller as .*: deletecollection /, "k3ts leaves out kinds of which the namespace has no object"],
  [/^clusterrole-aggregation-controller /, "the API server of k3ts aggregates roles with the write that changes one"],
  [/: update leases$/, "one server needs no election; several hold Leases of their own"],
  [/: create serviceaccounts\/token$/, "controllers in the process of the API server need no tokens"],
  [
    /^endpointslice-controller as .* events/,
    "Kubernetes leaves out a pod whose node is gone and says so; k3ts keeps it as long as the pod is ready",
  ],
  [
    /^(cronjob|expand)-controller as .*: patch events/,
    "Events are joined where their messages are equal, in which names stand that differ by chance or time",
  ],
  [/^generic-garbage-collector as .*: delete resourceclaims$/, "whether the claim's own controller is first is chance"],
]

/** Writes that k3ts makes more often. */
export const MORE: readonly Difference[] = [
  [
    /^pod-garbage-collector as .*: patch pods\/status/,
    "it acts on pods at once that are gone before Kubernetes looks, which it does every 20 s",
  ],
]

/** User agents that only one of them has. */
export const DIFFERENT_AGENTS: readonly Difference[] = [
  [/^k3ts-metrics-server: /, "the metrics server is a part of k3ts"],
  [/^(clusterrole-aggregation-controller|legacy-service-account-token-cleaner): /, "they ask nothing on this day"],
  [
    /^system:kube-controller-manager: /,
    "Kubernetes' program has clients for its election, informers and tokens; k3ts has one for all of them",
  ],
]

/** Owners of fields that only one of them has. */
export const DIFFERENT_OWNERS: readonly Difference[] = [
  [/^storageclasses: kube-apiserver /, "the class local-path is a part of k3ts"],
  [/^leases: /, "there is no election, and the one server is known without a Lease"],
  [/^resourcequotas: kube-apiserver /, "what admission adds to a quota has no owner until the controller writes"],
]

/** Writes of the scheduler that only one of them makes. */
export const DIFFERENT_SCHEDULING: readonly Difference[] = [
  [/: (create|update) leases$/, "one server needs no election; several hold Leases of their own"],
  [/: create events$/, "that of the election"],
]

/** What only one of them tells of pods. */
export const DIFFERENT_WORDS: readonly Difference[] = [
  [/^Kubernetes: Lease kube-scheduler: Normal LeaderElection, /, "one server needs no election"],
  [
    /^Kubernetes: (Pod )?(listens-1|on-no-node|patient|too-large|apart-2): .*untolerated taint/,
    "Kubernetes tries almost every waiting pod again when a taint changes, whatever keeps the pod from its nodes",
  ],
  [
    /Pod low: Normal Preempted, /,
    "kube-scheduler 1.36 means to name the pod that others make room for, and leaves it out by a mistake",
  ],
  [/^k3ts: (Pod )?(spread-0|apart-2): .*untolerated taint/, "k3ts asks no plugin which nodes it would accept now"],
]
