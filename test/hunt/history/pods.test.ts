/** The invariants of pods, each with a history that breaks it. */
import { describe } from "bun:test"
import { at, by, finds, make, ownedBy, pod, READY, START } from "./broken.fixtures.ts"

const SCHEDULER = "system:kube-scheduler"
const KUBELET = "system:node:node-0"
const node = (name: string, { spec = {}, labels = {} }: { readonly spec?: object; readonly labels?: object } = {}) => ({
  object: make("Node", name, {
    metadata: { namespace: undefined, labels },
    spec,
    status: { allocatable: { cpu: "4", memory: "8Gi", pods: "110" } },
  }),
})
const unbound = (name: string, spec: object, labels: object = {}) => ({
  object: pod(name, { metadata: { labels }, spec: { nodeName: undefined, ...spec } }),
})
const bound = (name: string, spec: object, labels: object = {}, onto = "node-0") => [
  unbound(name, spec, labels),
  { object: pod(name, { metadata: { labels }, spec: { ...spec, nodeName: onto } }), author: SCHEDULER, after: 10 },
]
const asks = (cpu: string) => ({
  containers: [
    { name: "main", image: "app", resources: { requests: { cpu } }, ports: [{ hostPort: 80, protocol: "TCP" }] },
  ],
})
const SELECTOR = { matchLabels: { app: "web" } }
const WEB = { app: "web" }
const NEAR = [{ topologyKey: "zone", labelSelector: SELECTOR }]
const apart = { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: NEAR } } }
const together = { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: NEAR } } }
const spread = {
  topologySpreadConstraints: [
    { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule", labelSelector: SELECTOR },
  ],
}
const TWO = [node("node-0", { labels: { zone: "a" } }), node("node-1", { labels: { zone: "b" } })]
/** A node that the scheduler may know of, or not yet, when pods are bound. */
const NEW = { ...node("node-2", { labels: { zone: "b" } }), after: 10 }
const TAINT = { taints: [{ key: "gpu", value: "yes", effect: "NoSchedule" }] }

describe("an invariant of pods", () => {
  finds("isPlacedWhereItFits", [
    {
      says: "which has the taint gpu:NoSchedule",
      broken: [node("node-0", { spec: TAINT }), ...bound("a", {})],
      sound: [node("node-0", { spec: TAINT }), ...bound("a", { tolerations: [{ key: "gpu", operator: "Exists" }] })],
    },
    {
      says: "which has the taint node.kubernetes.io/unschedulable:NoSchedule",
      broken: [node("node-0", { spec: { unschedulable: true } }), ...bound("a", {})],
      sound: [node("node-0"), ...bound("a", {}), node("node-0", { spec: { unschedulable: true } })],
    },
    {
      says: "which is not selected",
      broken: [node("node-0"), ...bound("a", { nodeSelector: { disk: "fast" } })],
      sound: [node("node-0", { labels: { disk: "fast" } }), ...bound("a", { nodeSelector: { disk: "fast" } })],
    },
    {
      says: "which has too little cpu",
      broken: [node("node-0"), ...bound("a", asks("5"))],
      sound: [node("node-0"), ...bound("a", asks("4"))],
    },
    {
      says: "which has Pod default/a on the same port",
      broken: [node("node-0"), ...bound("a", asks("1")), ...bound("b", asks("1"))],
      sound: [...TWO, ...bound("a", asks("1")), ...bound("b", asks("1"), {}, "node-1")],
    },
    {
      says: "which is kept apart from Pod default/a",
      broken: [...TWO, ...bound("a", apart, WEB), ...bound("b", {}, WEB)],
      sound: [...TWO, ...bound("a", apart, WEB), ...bound("b", {}, WEB, "node-1")],
    },
    {
      says: "which is not near the pods that it wants",
      broken: [...TWO, ...bound("a", {}, WEB), ...bound("b", together, {}, "node-1")],
      sound: [...TWO, ...bound("a", {}, WEB), ...bound("b", together)],
    },
    {
      says: "which breaks the spread over zone",
      broken: [...TWO, ...bound("a", spread, WEB), ...bound("b", spread, WEB)],
      sound: [...TWO, ...bound("a", spread, WEB), ...bound("b", spread, WEB, "node-1")],
    },
    {
      says: "Pod default/c was bound to node-0, which breaks the spread over zone",
      broken: [...TWO, ...bound("a", spread, WEB), NEW, ...bound("c", spread, WEB)],
      sound: [
        ...TWO,
        ...bound("a", spread, WEB),
        NEW,
        ...bound("b", spread, WEB, "node-2"),
        ...bound("c", spread, WEB),
      ],
    },
    {
      says: "was bound to node-0, which is not there",
      broken: bound("a", {}),
      sound: [node("node-0"), ...bound("a", {})],
    },
    {
      says: "though it has scheduling gates",
      broken: [node("node-0"), ...bound("a", { schedulingGates: [{ name: "wait" }] })],
      sound: [node("node-0"), unbound("a", { schedulingGates: [{ name: "wait" }] }), ...bound("a", {})],
    },
  ])

  const dying = (end: number, grace: number, status: object = {}) => ({
    object: pod("a", { metadata: { deletionTimestamp: at(end), deletionGracePeriodSeconds: grace }, status }),
  })
  const stopped = (second: number) => ({
    containerStatuses: [{ name: "main", state: { terminated: { finishedAt: at(second) } } }],
  })
  finds("addsTheGracePeriod", [
    {
      says: "was deleted at 2026-01-01T00:00:00Z with 30 s, until 2026-01-01T00:00:31Z",
      broken: [{ object: pod("a") }, dying(31, 30)],
      sound: [{ object: pod("a") }, dying(30, 30)],
    },
    {
      says: "had 5 s to end and then 9 s",
      broken: [{ object: pod("a") }, dying(5, 5), dying(5, 9)],
      sound: [{ object: pod("a") }, dying(5, 5), dying(1, 1)],
    },
  ])
  const removed = (end: number, last: number) => [
    { object: pod("a") },
    dying(30, 30),
    { ...dying(30, 0, stopped(end)), gone: true, author: KUBELET, after: last },
  ]
  finds("endsWithinTheGrace", [
    { says: "container main of Pod default/a ran on after", broken: removed(40, 40), sound: removed(30, 30) },
    { says: "is removed at 2026-01-01T00:01:00Z", broken: removed(30, 60), sound: removed(30, 31) },
  ])
  finds("endsWithinTheGrace", [
    {
      says: "ran on after",
      broken: removed(40, 40),
      sound: [],
      troubles: [{ from: START + 900_000, to: START + 910_000, is: "nodeLost" }],
    },
  ])

  const phase = (name: string, more: object = {}) => ({ object: pod("a", { status: { phase: name, ...more } }) })
  const restarted = (count: number) => phase("Running", { containerStatuses: [{ name: "main", restartCount: count }] })
  finds("goesForward", [
    {
      says: "went from Running to Pending",
      broken: [phase("Running"), phase("Pending")],
      sound: [phase("Pending"), phase("Running")],
    },
    {
      says: "restarted main 2 times and then 1 times",
      broken: [restarted(2), restarted(1)],
      sound: [restarted(1), restarted(2)],
    },
    {
      says: "is ready and Failed",
      broken: [phase("Running"), phase("Failed", { conditions: READY.conditions })],
      sound: [phase("Pending"), phase("Running", READY)],
    },
  ])

  const crashed = (restart: number, ended: number, started: number) => [
    phase("Running", { containerStatuses: [{ name: "main", restartCount: restart - 1 }] }),
    {
      ...phase("Running", {
        containerStatuses: [
          {
            name: "main",
            restartCount: restart,
            state: { running: { startedAt: at(started) } },
            lastState: { terminated: { startedAt: at(ended - 1), finishedAt: at(ended) } },
          },
        ],
      }),
      after: started,
    },
  ]
  finds("backsOffCrashes", [
    { says: "waited 5 s for its restart 2, not 10 s", broken: crashed(2, 20, 25), sound: crashed(2, 20, 30) },
    { says: "waited 0 s for its restart 4, not 40 s", broken: crashed(4, 90, 90), sound: crashed(4, 90, 130) },
    {
      says: "waited 400 s for its restart 8, not 300 s",
      broken: crashed(8, 1000, 1400),
      sound: crashed(8, 1000, 1300),
    },
  ])

  const failed = (name: string, end: number) => ({
    object: pod(name, { metadata: ownedBy("Job", "job"), status: { phase: "Failed", ...stopped(end) } }),
    after: end,
  })
  const again = (name: string, after: number) => ({
    object: pod(name, { metadata: ownedBy("Job", "job"), spec: { nodeName: undefined } }),
    author: by("job-controller"),
    after,
  })
  const job = { object: make("Job", "job", { spec: { parallelism: 1, completions: 1 } }) }
  finds("backsOffJobs", [
    {
      says: "was created 3 s after the failure 1 of its Job, not 10 s",
      broken: [job, failed("a", 5), again("b", 8)],
      sound: [job, failed("a", 5), again("b", 15)],
    },
    {
      says: "was created 10 s after the failure 2 of its Job, not 20 s",
      broken: [job, failed("a", 5), failed("b", 25), again("c", 35)],
      sound: [job, failed("a", 5), failed("b", 25), again("c", 45)],
    },
  ])
})
