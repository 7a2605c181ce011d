/** The invariants of metadata and conditions, each with a history that breaks it. */
import { describe } from "bun:test"
import { at, by, finds, make, ownedBy, pod } from "./broken.fixtures.ts"

const deployment = (metadata: object, fields: object = {}) => make("Deployment", "web", { metadata, ...fields })
const since = (status: string, seconds: number) => ({
  status: { conditions: [{ type: "Available", status, lastTransitionTime: at(seconds) }] },
})

const QUOTA = { object: make("ResourceQuota", "a") }

/** Returns a pod's creation, and a write for each of these metadata. */
const dying = (...states: readonly object[]) => [{}, ...states].map((metadata) => ({ object: pod("a", { metadata }) }))

describe("an invariant of every write", () => {
  finds("keepsIdentity", [
    {
      says: "is deleted until 2026-01-01T00:00:30Z and then until 2026-01-01T00:00:40Z",
      broken: dying({ deletionTimestamp: at(30) }, { deletionTimestamp: at(40) }),
      sound: dying({ deletionTimestamp: at(30) }, { deletionTimestamp: at(20) }),
    },
    {
      says: "got the finalizers held after its deletion",
      broken: dying({ deletionTimestamp: at(30) }, { deletionTimestamp: at(30), finalizers: ["held"] }),
      sound: dying({ deletionTimestamp: at(30) }, { deletionTimestamp: at(30), finalizers: ["orphan"] }),
    },
    {
      says: "was created at 2026-01-01T00:00:00Z and then at 2026-01-01T00:00:02Z",
      broken: dying({ creationTimestamp: at(2) }),
      sound: dying({ creationTimestamp: at(0) }),
    },
  ])

  finds("changesSomething", [
    {
      says: "Secret default/a was written again as it was",
      broken: [{ object: make("Secret", "a") }, { object: make("Secret", "a") }],
      sound: [{ object: make("Secret", "a") }, { object: make("Secret", "a", { data: { key: "dmFsdWU=" } }) }],
    },
    {
      says: "ResourceQuota default/a was written again as it was",
      broken: [QUOTA, { ...QUOTA, author: by("resourcequota-controller") }],
      sound: [QUOTA, { ...QUOTA, author: "system:apiserver" }],
    },
  ])

  finds("countsGenerations", [
    {
      says: "went from generation 1 to 1, its spec changed",
      broken: [{ object: deployment({}) }, { object: deployment({}, { spec: { replicas: 2 } }) }],
      sound: [{ object: deployment({}) }, { object: deployment({ generation: 2 }, { spec: { replicas: 2 } }) }],
    },
    {
      says: "went from generation 1 to 2, its spec is the same",
      broken: [{ object: deployment({}) }, { object: deployment({ generation: 2 }, { status: { replicas: 1 } }) }],
      sound: [{ object: deployment({}) }, { object: deployment({ generation: 2, annotations: { a: "b" } }) }],
    },
    {
      says: "has the generation 1, and its status has observed 2",
      broken: [{ object: deployment({}, { status: { observedGeneration: 2 } }) }],
      sound: [{ object: deployment({}, { status: { observedGeneration: 1 } }) }],
    },
    {
      says: "was observed at generation 2 and then at 1",
      broken: [2, 1].map((seen) => ({
        object: deployment({ generation: 2 }, { status: { observedGeneration: seen } }),
      })),
      sound: [1, 2].map((seen) => ({
        object: deployment({ generation: 2 }, { status: { observedGeneration: seen } }),
      })),
    },
  ])

  const sandbox = (second: number, podIP: string) => ({
    object: pod("a", {
      status: {
        podIP,
        conditions: [{ type: "PodReadyToStartContainers", status: "True", lastTransitionTime: at(second) }],
      },
    }),
  })
  const NODE = "system:node:one"
  const ready = (status: string, second: number, reason?: string) => ({
    object: pod("a", {
      status: { conditions: [{ type: "Ready", status, reason, lastTransitionTime: at(second) }] },
    }),
  })
  finds("timesTransitions", [
    {
      says: "is Available=True since 2026-01-01T00:00:00Z, and then since 2026-01-01T00:00:09Z",
      broken: [{ object: deployment({}, since("True", 0)) }, { object: deployment({}, since("True", 9)), after: 9 }],
      sound: [{ object: deployment({}, since("True", 0)) }, { object: deployment({}, since("False", 9)), after: 9 }],
    },
    {
      says: "is Available=False since 2026-01-01T00:00:05Z, before 2026-01-01T00:00:09Z",
      broken: [{ object: deployment({}, since("True", 9)), after: 9 }, { object: deployment({}, since("False", 5)) }],
      sound: [{ object: deployment({}, since("True", 9)), after: 9 }, { object: deployment({}, since("False", 9)) }],
    },
    {
      says: "is PodReadyToStartContainers=True since 2026-01-01T00:00:00Z, and then since 2026-01-01T00:00:09Z",
      broken: [sandbox(0, "10.42.0.4"), { ...sandbox(9, "10.42.0.4"), after: 9 }],
      sound: [sandbox(0, "10.42.0.4"), { ...sandbox(9, "10.42.0.7"), after: 9 }],
    },
    {
      says: "is Ready=True since 2026-01-01T00:00:05Z, before 2026-01-01T00:00:09Z",
      broken: [{ ...ready("False", 9, "ContainersNotReady"), after: 9 }, ready("True", 5)],
      sound: [{ ...ready("False", 9), after: 9 }, ready("True", 5)],
    },
    {
      // A kubelet that has just started may take an earlier state for the last, for a while.
      says: "is Ready=False since 2026-01-01T00:00:09Z, and then since 2026-01-01T00:00:59Z",
      broken: [
        ready("True", 0),
        { ...ready("False", 9), after: 9 },
        { ...ready("False", 59), after: 59, author: NODE },
      ],
      sound: [ready("True", 0), { ...ready("False", 9), after: 9 }, { ...ready("False", 10), after: 10, author: NODE }],
    },
  ])

  const managed = (fieldsV1: object) => ({ managedFields: [{ manager: "kubectl", operation: "Apply", fieldsV1 }] })
  const spec = { replicas: 1, template: { containers: [{ name: "main", args: ["a"] }] } }
  finds("managesWhatIsThere", [
    {
      says: "has no /f:spec/f:paused, which kubectl manages",
      broken: [{ object: deployment(managed({ "f:spec": { "f:paused": {} } }), { spec }) }],
      sound: [{ object: deployment(managed({ "f:spec": { "f:replicas": {} } }), { spec }) }],
    },
    {
      says: 'has no /f:spec/f:template/f:containers/k:{"name":"side"}, which kubectl manages',
      broken: [
        {
          object: deployment(managed({ "f:spec": { "f:template": { "f:containers": { 'k:{"name":"side"}': {} } } } }), {
            spec,
          }),
        },
      ],
      sound: [
        {
          object: deployment(
            managed({
              "f:spec": {
                "f:template": { "f:containers": { 'k:{"name":"main"}': { ".": {}, "f:args": { 'v:"a"': {} } } } },
              },
            }),
            { spec },
          ),
        },
      ],
    },
  ])

  finds("hasItsOwner", [
    {
      says: "Pod default/a was created for ReplicaSet web, which is not there",
      broken: [{ object: pod("a", { metadata: ownedBy("ReplicaSet", "web") }), author: by("replicaset-controller") }],
      sound: [
        { object: make("ReplicaSet", "web") },
        { object: pod("a", { metadata: ownedBy("ReplicaSet", "web") }), author: by("replicaset-controller") },
      ],
    },
  ])
})
