/** The invariants of controllers, each with a history that breaks it. */
import { describe } from "bun:test"
import { at, by, finds, make, ownedBy, pod, READY, START, type Step } from "./broken.fixtures.ts"

const born = (name: string, kind: string, owner: string, controller: string, fields: object = {}): Step => ({
  object: pod(name, { metadata: ownedBy(kind, owner), spec: { nodeName: undefined }, ...fields }),
  author: by(controller),
})
const ready = (name: string, kind: string, owner: string, fields: object = {}): Step => ({
  object: pod(name, { metadata: ownedBy(kind, owner), status: READY, ...fields }),
})
const deleted = (name: string, kind: string, owner: string, controller: string, fields: object = {}): Step => ({
  object: pod(name, { metadata: { ...ownedBy(kind, owner), deletionTimestamp: at(30) }, status: READY, ...fields }),
  author: by(controller),
})

describe("an invariant of controllers", () => {
  const replicaSet = (replicas: number): Step => ({ object: make("ReplicaSet", "web", { spec: { replicas } }) })
  const ofSet = (name: string) => born(name, "ReplicaSet", "web", "replicaset-controller")
  finds("createsNoMoreThanReplicas", [
    {
      says: "ReplicaSet default/web wants 1 pods and makes the 2th",
      broken: [replicaSet(1), ofSet("a"), ofSet("b")],
      sound: [replicaSet(2), ofSet("a"), ofSet("b")],
    },
  ])

  const job = (spec: object, status: object = {}): Step => ({ object: make("Job", "job", { spec, status }) })
  const ofJob = (name: string) => born(name, "Job", "job", "job-controller")
  const COMPLETE = { conditions: [{ type: "Complete", status: "True" }] }
  finds("keepsParallelism", [
    {
      says: "has 2 active pods, with a parallelism of 1",
      broken: [job({ parallelism: 1, completions: 5 }), ofJob("a"), ofJob("b")],
      sound: [job({ parallelism: 2, completions: 5 }), ofJob("a"), ofJob("b")],
    },
    {
      says: "has 2 active pods for the last 1 completions",
      broken: [job({ parallelism: 3, completions: 4 }, { succeeded: 3 }), ofJob("a"), ofJob("b")],
      sound: [job({ parallelism: 3, completions: 4 }, { succeeded: 2 }), ofJob("a"), ofJob("b")],
    },
    {
      says: "creates a pod though it is suspended",
      broken: [job({ parallelism: 1, suspend: true }), ofJob("a")],
      sound: [job({ parallelism: 1, suspend: false }), ofJob("a")],
    },
    {
      says: "creates a pod though it has ended",
      broken: [job({ parallelism: 1 }, COMPLETE), ofJob("a")],
      sound: [job({ parallelism: 1 }), ofJob("a"), job({ parallelism: 1 }, COMPLETE)],
    },
  ])

  const set = (spec: object = {}, status: object = {}): Step => ({
    object: make("StatefulSet", "db", { spec: { replicas: 3, ...spec }, status }),
  })
  const ofDb = (name: string) => born(name, "StatefulSet", "db", "statefulset-controller")
  const readyDb = (name: string) => ready(name, "StatefulSet", "db")
  const goes = (name: string) => deleted(name, "StatefulSet", "db", "statefulset-controller")
  finds("keepsTheOrder", [
    {
      says: "creates db-1 before 0 is ready",
      broken: [set(), ofDb("db-0"), ofDb("db-1")],
      sound: [set(), ofDb("db-0"), readyDb("db-0"), ofDb("db-1")],
    },
    {
      says: "takes db-1 away while db-2 is there",
      broken: [readyDb("db-0"), readyDb("db-1"), readyDb("db-2"), set({ replicas: 1 }), goes("db-1")],
      sound: [readyDb("db-0"), readyDb("db-1"), readyDb("db-2"), set({ replicas: 1 }), goes("db-2")],
    },
    {
      says: "takes db-1 away while db-2 is there",
      broken: [set(), readyDb("db-0"), readyDb("db-1"), readyDb("db-2"), set({ replicas: 1 }), goes("db-1")],
      // It may still be the number before that counts, and then it is the one to be replaced.
      sound: [
        set({ replicas: 1 }, { updateRevision: "new" }),
        readyDb("db-0"),
        readyDb("db-1"),
        readyDb("db-2"),
        set({ replicas: 3 }, { updateRevision: "new" }),
        goes("db-1"),
      ],
    },
    {
      says: "replaces db-0 while 2 is not ready",
      broken: [set(), readyDb("db-0"), readyDb("db-1"), ofDb("db-2"), goes("db-0")],
      sound: [set({ podManagementPolicy: "Parallel" }), readyDb("db-0"), readyDb("db-1"), ofDb("db-2"), goes("db-0")],
    },
  ])

  const cron = (spec: object): Step => ({ object: make("CronJob", "cron", { spec }) })
  const ofCron = (name: string, second: number, after: number, status: object = {}, metadata: object = {}): Step => ({
    object: make("Job", name, {
      metadata: {
        ...ownedBy("CronJob", "cron"),
        annotations: { "batch.kubernetes.io/cronjob-scheduled-timestamp": at(second) },
        ...metadata,
      },
      status,
    }),
    author: by("cronjob-controller"),
    after,
  })
  finds("keepsTheSchedule", [
    {
      says: "forbids concurrency, and creates a Job beside Job default/a",
      broken: [cron({ concurrencyPolicy: "Forbid" }), ofCron("a", 60, 60), ofCron("b", 120, 120)],
      sound: [cron({ concurrencyPolicy: "Forbid" }), ofCron("a", 60, 60, COMPLETE), ofCron("b", 120, 120)],
    },
    {
      says: "replaces Jobs, and creates one beside Job default/a",
      broken: [cron({ concurrencyPolicy: "Replace" }), ofCron("a", 60, 60), ofCron("b", 120, 120)],
      sound: [
        cron({ concurrencyPolicy: "Replace" }),
        ofCron("a", 60, 60),
        ofCron("a", 60, 120, {}, { deletionTimestamp: at(120) }),
        ofCron("b", 120, 120),
      ],
    },
    {
      says: "creates a Job for 2026-01-01T00:01:00Z twice",
      broken: [cron({}), ofCron("a", 60, 60), ofCron("b", 60, 61)],
      sound: [cron({}), ofCron("a", 60, 60), ofCron("b", 120, 120)],
    },
    {
      says: "creates the Job of 2026-01-01T00:01:00Z early",
      broken: [cron({}), ofCron("a", 60, 59)],
      sound: [cron({}), ofCron("a", 60, 60)],
    },
    {
      says: "creates the Job of 2026-01-01T00:01:00Z 40 s late",
      broken: [cron({ startingDeadlineSeconds: 30 }), ofCron("a", 60, 100)],
      sound: [cron({ startingDeadlineSeconds: 30 }), ofCron("a", 60, 80)],
    },
    {
      says: "creates a Job though it is suspended",
      broken: [cron({ suspend: true }), ofCron("a", 60, 60)],
      sound: [cron({ suspend: false }), ofCron("a", 60, 60)],
    },
  ])

  const web = (rollingUpdate: object, type = "RollingUpdate"): Step => ({
    object: make("Deployment", "web", {
      spec: { replicas: 4, strategy: { type, rollingUpdate } },
      status: { observedGeneration: 1 },
    }),
  })
  const scaled = (name: string, replicas: number, available = 0): Step => ({
    object: make("ReplicaSet", name, {
      metadata: ownedBy("Deployment", "web"),
      spec: { replicas },
      status: { availableReplicas: available },
    }),
    author: by("deployment-controller"),
    after: 10,
  })
  const ONE_MORE = { maxSurge: 1, maxUnavailable: 0 }
  finds("keepsTheRollout", [
    {
      says: "raises new by 2 to 6 pods of at most 5",
      broken: [web(ONE_MORE), scaled("old", 4), scaled("new", 2)],
      sound: [web(ONE_MORE), scaled("old", 4), scaled("new", 1)],
    },
    {
      says: "lowers old by 1, and keeps 3 available pods of 4",
      broken: [web(ONE_MORE), scaled("old", 4, 4), scaled("new", 1), scaled("old", 3, 4)],
      sound: [web(ONE_MORE), scaled("old", 4, 4), scaled("new", 1), scaled("new", 1, 1), scaled("old", 3, 4)],
    },
    {
      says: "lowers old by 1, and keeps 3 available pods of 4",
      broken: [web(ONE_MORE), scaled("old", 4, 4), scaled("new", 1), scaled("old", 3, 4)],
      sound: [web(ONE_MORE), scaled("old", 4, 4), scaled("new", 1), scaled("new", 1, 1), scaled("old", 3, 4)],
      troubles: [{ from: START, to: START + 9000, is: "crashed" }],
    },
    {
      says: "is recreated, and starts new beside Pod default/a",
      broken: [web({}, "Recreate"), ready("a", "ReplicaSet", "old"), { ...scaled("old", 0) }, scaled("new", 4)],
      sound: [web({}, "Recreate"), scaled("old", 0), scaled("new", 4)],
    },
  ])

  const daemons = (rollingUpdate: object): Step => ({
    object: make("DaemonSet", "agent", { spec: { updateStrategy: { rollingUpdate } } }),
  })
  const NODES = ["node-0", "node-1", "node-2"].map((name): Step => ({ object: make("Node", name) }))
  const tainted = (effect: string, name = "node-1"): Step => ({
    object: make("Node", name, { spec: { taints: [{ key: "gpu", value: "yes", effect }] } }),
  })
  const agent = (name: string, node: string) => ready(name, "DaemonSet", "agent", { spec: { nodeName: node } })
  const taken = (name: string, node: string) =>
    deleted(name, "DaemonSet", "agent", "daemon-set-controller", { spec: { nodeName: node } })
  const AGENTS = [agent("a", "node-0"), agent("b", "node-1"), agent("c", "node-2")]
  /** Somebody else deletes a pod ten seconds after the start, and then the controller another one. */
  const besides = (after: number): readonly Step[] => [
    ...[...NODES, daemons({ maxUnavailable: 1 }), ...AGENTS],
    { ...taken("a", "node-0"), author: "alice", after: 10 },
    { ...taken("b", "node-1"), after },
  ]
  finds("keepsOneOnEachNode", [
    {
      says: "has 2 pods on node-0",
      broken: [daemons({}), agent("a", "node-0"), { ...agent("b", "node-0"), author: by("daemon-set-controller") }],
      sound: [
        daemons({ maxSurge: 1 }),
        agent("a", "node-0"),
        { ...agent("b", "node-0"), author: by("daemon-set-controller") },
      ],
    },
    {
      says: "takes b away, and then 2 nodes have none, of at most 1",
      broken: [...NODES, daemons({ maxUnavailable: 1 }), ...AGENTS, taken("a", "node-0"), taken("b", "node-1")],
      sound: [...NODES, daemons({ maxUnavailable: 2 }), ...AGENTS, taken("a", "node-0"), taken("b", "node-1")],
    },
    {
      says: "takes b away, and then 2 nodes have none, of at most 1",
      broken: besides(40),
      sound: besides(10),
    },
    {
      says: "takes b away, and then 2 nodes have none, of at most 1",
      broken: [...NODES, tainted("NoSchedule"), daemons({}), ...AGENTS, taken("a", "node-0"), taken("b", "node-1")],
      sound: [...NODES, tainted("NoExecute"), daemons({}), ...AGENTS, taken("a", "node-0"), taken("b", "node-1")],
    },
    {
      says: "takes b away, and then 2 nodes have none, of at most 0",
      broken: [...NODES, daemons({ maxSurge: 1 }), ...AGENTS, taken("a", "node-0"), taken("b", "node-1")],
      sound: [
        ...[...NODES, tainted("NoSchedule", "node-0"), tainted("NoSchedule"), daemons({ maxSurge: 1 })],
        ...[...AGENTS, taken("a", "node-0"), taken("b", "node-1")],
      ],
    },
  ])

  const budget = (status: object, author = by("disruption-controller")): Step => ({
    object: make("PodDisruptionBudget", "pdb", { spec: { selector: { matchLabels: { app: "web" } } }, status }),
    author,
  })
  const counts = (allowed: number, healthy: number, disruptedPods: object = {}) => ({
    disruptionsAllowed: allowed,
    currentHealthy: healthy,
    desiredHealthy: 2,
    expectedPods: 3,
    observedGeneration: 1,
    disruptedPods,
  })
  finds("countsDisruptions", [
    {
      says: "allows 2 disruptions with 3 healthy pods of 2",
      broken: [budget({}), budget(counts(2, 3))],
      sound: [budget({}), budget(counts(1, 3))],
    },
    {
      says: "went from 1 to 1 disruptions by an eviction",
      broken: [budget(counts(1, 3)), budget(counts(1, 3, { a: at(0) }), "alice")],
      sound: [budget(counts(1, 3)), budget(counts(0, 3, { a: at(0) }), "alice")],
    },
  ])
  const labelled = (name: string, more: object = {}): Step => ({
    object: pod(name, { metadata: { labels: { app: "web" } }, status: { ...READY, ...more } }),
    after: 10,
  })
  const evicted = (name: string) =>
    labelled(name, {
      conditions: [...READY.conditions, { type: "DisruptionTarget", status: "True", reason: "EvictionByEvictionAPI" }],
    })
  finds("keepsBudgets", [
    {
      says: "Pod default/a was evicted, though PodDisruptionBudget default/pdb wants 2 healthy pods",
      broken: [budget(counts(0, 2)), labelled("a"), labelled("b"), evicted("a")],
      sound: [budget(counts(1, 3)), labelled("a"), labelled("b"), labelled("c"), evicted("a")],
    },
  ])

  const scaler = (current: number, wanted: number, utilization: number, more: object = {}, after = 0): Step => ({
    object: make("HorizontalPodAutoscaler", "web", {
      spec: {
        minReplicas: 1,
        maxReplicas: 10,
        metrics: [
          { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } } },
        ],
      },
      status: {
        currentReplicas: current,
        desiredReplicas: wanted,
        currentMetrics: [{ type: "Resource", resource: { name: "cpu", current: { averageUtilization: utilization } } }],
        conditions: [{ type: "ScalingActive", status: "True" }],
        ...more,
      },
    }),
    author: by("horizontal-pod-autoscaler"),
    after,
  })
  finds("followsMetrics", [
    {
      says: "wants 11 of 1 to 10",
      broken: [scaler(9, 9, 50), scaler(9, 11, 90)],
      sound: [scaler(9, 9, 50), scaler(9, 10, 90)],
    },
    {
      says: "goes from 2 to 3 though its metrics are 106 % of their targets",
      broken: [scaler(2, 2, 50), scaler(2, 3, 52)],
      sound: [scaler(2, 2, 50), scaler(2, 3, 70)],
    },
    {
      says: "goes from 1 to 7 at once",
      broken: [scaler(1, 1, 50), scaler(1, 7, 500)],
      sound: [scaler(1, 1, 50), scaler(1, 5, 500)],
    },
    {
      says: "goes from 2 to 4, but its metrics ask for 3",
      broken: [scaler(2, 2, 50), scaler(2, 4, 70)],
      sound: [scaler(2, 2, 50), scaler(2, 3, 70)],
    },
    {
      says: "goes from 2 to 4 though its metrics are 22 % of their targets",
      broken: [scaler(2, 2, 50), scaler(2, 4, 10)],
      // somebody else has scaled down what the autoscaler had at 4
      sound: [scaler(4, 4, 50), scaler(2, 4, 10)],
    },
  ])
  const grown = [scaler(2, 2, 50), scaler(2, 4, 100, { lastScaleTime: at(15) }, 15)]
  const shrunk = (after: number) => [...grown, scaler(4, 2, 20, { lastScaleTime: at(after) }, after)]
  const disabled = { conditions: [{ type: "ScalingActive", status: "False", reason: "ScalingDisabled" }] }
  // Somebody else has scaled down what the autoscaler had at `replicas`, and it returned to 4.
  const returned = (replicas: number) => [
    scaler(replicas, 2, 50),
    ...grown,
    scaler(4, 2, 20, { lastScaleTime: at(310) }, 310),
  ]
  const stopped = (more: object) => [...grown, scaler(0, 0, 0, more, 100)]
  finds("staysUp", [
    { says: "goes down to 2 within five minutes after 4", broken: shrunk(200), sound: shrunk(330) },
    { says: "goes down to 2 within five minutes after 4", broken: returned(3), sound: returned(4) },
    { says: "goes down to 0 within five minutes after 4", broken: stopped({}), sound: stopped(disabled) },
  ])

  const quota = (hard: object): Step => ({
    object: make("ResourceQuota", "cpus", { spec: { hard }, status: { hard } }),
  })
  const asking = (name: string, cpu: string): Step => ({
    object: pod(name, { spec: { containers: [{ name: "main", image: "app", resources: { requests: { cpu } } }] } }),
  })
  finds("keepsQuotas", [
    {
      says: "Pod default/b takes 2.5 CPUs of ResourceQuota default/cpus, which has 2",
      broken: [quota({ "requests.cpu": "2" }), asking("a", "1500m"), asking("b", "1")],
      sound: [quota({ "requests.cpu": "2500m" }), asking("a", "1500m"), asking("b", "1")],
    },
  ])

  const claim = (name: string, volumeName: string | undefined, phase: string): Step => ({
    object: make("PersistentVolumeClaim", name, { spec: { volumeName }, status: { phase } }),
  })
  const volume = (uid: string): Step => ({
    object: make("PersistentVolume", "disk", {
      metadata: { namespace: undefined },
      spec: { claimRef: { uid, name: uid } },
    }),
  })
  finds("bindsOnce", [
    {
      says: "was bound to disk and then to other",
      broken: [volume("a"), claim("a", "disk", "Bound"), claim("a", "other", "Bound")],
      sound: [volume("a"), claim("a", undefined, "Pending"), claim("a", "disk", "Bound")],
    },
    {
      says: "PersistentVolumeClaim default/b is bound to disk, which names a",
      broken: [volume("a"), claim("b", "disk", "Bound")],
      sound: [volume("b"), claim("b", "disk", "Bound")],
    },
    {
      says: "PersistentVolumeClaim default/b and PersistentVolumeClaim default/a are bound to disk",
      broken: [volume("a"), claim("a", "disk", "Bound"), volume("b"), claim("b", "disk", "Bound")],
      sound: [
        volume("a"),
        claim("a", "disk", "Bound"),
        claim("a", "disk", "Lost"),
        volume("b"),
        claim("b", "disk", "Bound"),
      ],
    },
  ])
})
