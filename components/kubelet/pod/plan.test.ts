import { describe, expect, test } from "bun:test"
import { planOf } from "./plan.ts"
import type { FailedProbe } from "../model/probe-results.ts"
import type { RuntimeContainer, RuntimePod } from "../model/runtime-pod.ts"
import { podOf, runOf, runtimeOf, sandboxOf } from "../testing/pod.ts"

type Spec = Parameters<typeof podOf>[0]
const c = (name: string, more: object = {}) => ({ name, image: "i", ...more })
const sidecar = (name: string) => c(name, { restartPolicy: "Always" as const })

interface Case {
  readonly title: string
  readonly spec?: Spec
  readonly runs?: readonly (readonly [name: string, more?: Partial<RuntimeContainer>])[]
  readonly sandboxes?: RuntimePod["sandboxes"]
  readonly failed?: FailedProbe
  readonly notStarted?: readonly string[]
  /** `kill pod`, `sandbox <attempt>`, `kill <name>`, `start <name>`, in this order. */
  readonly does: readonly string[]
}

const CASES: readonly Case[] = [
  { title: "makes a sandbox first, and in it the container", sandboxes: [], does: ["sandbox 0", "start c"] },
  { title: "starts missing containers in an existing sandbox", does: ["start c"] },
  { title: "does nothing when all containers run", runs: [["c"]], does: [] },
  { title: "starts containers in their order", spec: { containers: [c("b"), c("a")] }, does: ["start b", "start a"] },
  {
    title: "replaces a sandbox that died",
    runs: [["c", { exitCode: 137 }]],
    sandboxes: [sandboxOf({ ready: false, attempt: 2 })],
    does: ["kill pod", "sandbox 3", "start c"],
  },
  {
    title: "replaces a sandbox without an address",
    sandboxes: [sandboxOf({ ips: [] })],
    does: ["kill pod", "sandbox 1", "start c"],
  },
  {
    title: "needs no address for a pod in the node's network",
    spec: { hostNetwork: true },
    sandboxes: [sandboxOf({ ips: [], hostNetwork: true })],
    does: ["start c"],
  },
  {
    title: "makes no new sandbox for a pod that must not restart",
    spec: { restartPolicy: "Never" },
    runs: [["c", { exitCode: 137 }]],
    sandboxes: [sandboxOf({ ready: false })],
    does: ["kill pod"],
  },
  {
    title: "makes no new sandbox for a pod that has succeeded",
    spec: { restartPolicy: "OnFailure" },
    runs: [["c", { exitCode: 0 }]],
    sandboxes: [sandboxOf({ ready: false })],
    does: ["kill pod"],
  },
  { title: "restarts containers that ended, under Always", runs: [["c", { exitCode: 0 }]], does: ["start c"] },
  {
    title: "restarts containers that failed, under OnFailure",
    spec: { restartPolicy: "OnFailure" },
    runs: [["c", { exitCode: 1 }]],
    does: ["start c"],
  },
  {
    title: "ends a pod whose containers have all finished",
    spec: { restartPolicy: "OnFailure" },
    runs: [["c", { exitCode: 0 }]],
    does: ["kill pod"],
  },
  {
    title: "ends no pod while a container runs",
    spec: { restartPolicy: "Never", containers: [c("a"), c("b")] },
    runs: [["a", { exitCode: 1 }], ["b"]],
    does: [],
  },
  {
    title: "applies a container's own restart policy",
    spec: { restartPolicy: "Never", containers: [c("a", { restartPolicy: "Always" }), c("b")] },
    runs: [
      ["a", { exitCode: 0 }],
      ["b", { exitCode: 1 }],
    ],
    does: ["start a"],
  },
  {
    title: "applies restart rules by exit code before the policy",
    spec: {
      restartPolicy: "Never",
      containers: [
        c("a", { restartPolicyRules: [{ action: "Restart", exitCodes: { operator: "In", values: [42] } }] }),
        c("b"),
      ],
    },
    runs: [["a", { exitCode: 42 }], ["b"]],
    does: ["start a"],
  },
  {
    title: "replaces a container whose image changed",
    runs: [
      ["c", { notes: { hash: "other", restartCount: 0, messagePath: "", messagePolicy: "File", graceSeconds: 30 } }],
    ],
    does: ["kill c", "start c"],
  },
  {
    title: "replaces a container that failed its liveness probe",
    runs: [["c"]],
    failed: { probe: "liveness", graceSeconds: 3 },
    does: ["kill c", "start c"],
  },
  {
    title: "only kills a container that failed its liveness probe, under Never",
    spec: { restartPolicy: "Never" },
    runs: [["c"]],
    failed: { probe: "startup", graceSeconds: undefined },
    does: ["kill c"],
  },
  { title: "begins with the first init container", spec: { initContainers: [c("i1"), c("i2")] }, does: ["start i1"] },
  {
    title: "waits for the first init container",
    spec: { initContainers: [c("i1"), c("i2")] },
    runs: [["i1"]],
    does: [],
  },
  {
    title: "continues with the second init container",
    spec: { initContainers: [c("i1"), c("i2")] },
    runs: [["i1", { exitCode: 0 }]],
    does: ["start i2"],
  },
  {
    title: "tries a failed init container again",
    spec: { initContainers: [c("i1")] },
    runs: [["i1", { exitCode: 1 }]],
    does: ["start i1"],
  },
  {
    title: "gives up after a failed init container, under Never",
    spec: { restartPolicy: "Never", initContainers: [c("i1")] },
    runs: [["i1", { exitCode: 1 }]],
    does: ["kill pod"],
  },
  {
    title: "starts the containers when all init containers have finished",
    spec: { initContainers: [c("i1")] },
    runs: [["i1", { exitCode: 0 }]],
    does: ["start c"],
  },
  {
    title: "does not run init containers again after they were garbage-collected",
    spec: { initContainers: [c("i1")] },
    runs: [["c"]],
    does: [],
  },
  {
    title: "runs init containers again in a new sandbox",
    spec: { initContainers: [c("i1")] },
    runs: [
      ["c", { exitCode: 137, sandboxId: "old" }],
      ["i1", { exitCode: 0, sandboxId: "old" }],
    ],
    does: ["start i1"],
  },
  {
    title: "continues after a sidecar that has started",
    spec: { initContainers: [sidecar("s"), c("i1")] },
    runs: [["s"]],
    does: ["start i1"],
  },
  {
    title: "waits for a sidecar's startup probe",
    spec: { initContainers: [sidecar("s"), c("i1")] },
    runs: [["s"]],
    notStarted: ["s"],
    does: [],
  },
  {
    title: "restarts a sidecar beside running containers",
    spec: { initContainers: [sidecar("s")] },
    runs: [["s", { exitCode: 0 }], ["c"]],
    does: ["start s"],
  },
  {
    title: "ends a pod whose containers have finished although a sidecar runs",
    spec: { restartPolicy: "Never", initContainers: [sidecar("s")] },
    runs: [["s"], ["c", { exitCode: 0 }]],
    does: ["kill pod"],
  },
  {
    title: "starts an ephemeral container once",
    spec: { ephemeralContainers: [{ name: "debug", image: "i" }] },
    runs: [["c"]],
    does: ["start debug"],
  },
]

describe("the plan of a pod", () => {
  test.each(CASES.map((of) => [of.title, of] as const))(
    "%s",
    (_title, { spec = {}, runs = [], sandboxes, failed, notStarted = [], does }) => {
      // given
      const pod = podOf(spec)
      const runtime = runtimeOf(
        runs.map(([name, more]) => runOf(pod, name, more)),
        sandboxes,
      )
      // when
      const plan = planOf(pod, runtime, { isStarted: ({ name }) => !notStarted.includes(name), failed: () => failed })
      // then
      const done = [
        ...(plan.killPod ? ["kill pod"] : []),
        ...(plan.createSandbox ? [`sandbox ${plan.attempt}`] : []),
        ...plan.kill.map(({ run }) => `kill ${run.name}`),
        ...plan.start.map(({ container }) => `start ${container.name}`),
      ]
      expect(done).toEqual([...does])
    },
  )
})
