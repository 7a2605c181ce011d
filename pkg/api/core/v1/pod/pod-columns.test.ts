import { describe, expect, test } from "bun:test"
import { decodeObject } from "../../../../apimachinery/decoding/decode.ts"
import { Pod } from "./pod.ts"

type Json = Record<string, unknown>
const NOW = Date.parse("2026-01-01T01:00:00Z")
const made = (spec: Json, status: Json, metadata: Json = {}): Pod =>
  decodeObject(Pod, {
    metadata: { name: "web", namespace: "default", ...metadata },
    spec: {
      containers: [
        { name: "a", image: "a" },
        { name: "b", image: "b" },
      ],
      ...spec,
    },
    status,
  }).object
const cells = (pod: Pod) =>
  ["Ready", "Status", "Restarts"].map((wanted) => Pod.columns!.find(({ name }) => name === wanted)!.value(pod, NOW))
const running = (name: string, more: Json = {}): Json => ({ name, ready: true, state: { running: {} }, ...more })
const ended = (exitCode: number, reason = "", more: Json = {}): Json => ({
  state: { terminated: { exitCode, reason } },
  ...more,
})

describe("columns of pods", () => {
  test.each<[string, Json, Json, Json, (string | number)[]]>([
    ["a new pod", {}, { phase: "Pending" }, {}, ["0/2", "Pending", "0"]],
    [
      "a running pod",
      {},
      { phase: "Running", containerStatuses: [running("a"), running("b")] },
      {},
      ["2/2", "Running", "0"],
    ],
    [
      "a gated pod",
      { schedulingGates: [{ name: "g" }] },
      { phase: "Pending", conditions: [{ type: "PodScheduled", status: "False", reason: "SchedulingGated" }] },
      {},
      ["0/2", "SchedulingGated", "0"],
    ],
    [
      "a pod that is deleted",
      {},
      { phase: "Running", containerStatuses: [running("a")] },
      { deletionTimestamp: "2026-01-01T00:00:00Z" },
      ["1/2", "Terminating", "0"],
    ],
    [
      "a pod of a lost node",
      {},
      { phase: "Running", reason: "NodeLost" },
      { deletionTimestamp: "2026-01-01T00:00:00Z" },
      ["0/2", "Unknown", "0"],
    ],
    ["an evicted pod", {}, { phase: "Failed", reason: "Evicted" }, {}, ["0/2", "Evicted", "0"]],
    [
      "a crash loop",
      {},
      {
        phase: "Running",
        containerStatuses: [
          {
            name: "a",
            restartCount: 3,
            state: { waiting: { reason: "CrashLoopBackOff" } },
            lastState: { terminated: { exitCode: 1, finishedAt: "2026-01-01T00:55:00Z" } },
          },
          running("b"),
        ],
      },
      {},
      ["1/2", "CrashLoopBackOff", "3 (5m ago)"],
    ],
    [
      "an exit code without a reason",
      {},
      { phase: "Failed", containerStatuses: [{ name: "a", ...ended(3) }] },
      {},
      ["0/2", "ExitCode:3", "0"],
    ],
    [
      "one container completed, one ready",
      {},
      {
        phase: "Running",
        conditions: [{ type: "Ready", status: "True" }],
        containerStatuses: [{ name: "a", ...ended(0, "Completed") }, running("b")],
      },
      {},
      ["1/2", "Running", "0"],
    ],
    [
      "one container completed, one not ready",
      {},
      { phase: "Running", containerStatuses: [{ name: "a", ...ended(0, "Completed") }, running("b")] },
      {},
      ["1/2", "NotReady", "0"],
    ],
    [
      "the first of two init containers",
      {
        initContainers: [
          { name: "i", image: "i" },
          { name: "j", image: "j" },
        ],
      },
      {
        phase: "Pending",
        initContainerStatuses: [
          { name: "i", state: { running: {} } },
          { name: "j", state: { waiting: { reason: "PodInitializing" } } },
        ],
      },
      {},
      ["0/2", "Init:0/2", "0"],
    ],
    [
      "an init container that fails",
      { initContainers: [{ name: "i", image: "i" }] },
      { phase: "Pending", initContainerStatuses: [{ name: "i", restartCount: 2, ...ended(1, "Error") }] },
      {},
      ["0/2", "Init:Error", "2"],
    ],
    [
      "an init container that waits",
      { initContainers: [{ name: "i", image: "i" }] },
      { phase: "Pending", initContainerStatuses: [{ name: "i", state: { waiting: { reason: "ImagePullBackOff" } } }] },
      {},
      ["0/2", "Init:ImagePullBackOff", "0"],
    ],
    [
      "a sidecar counts as a container",
      { initContainers: [{ name: "s", image: "s", restartPolicy: "Always" }] },
      {
        phase: "Running",
        initContainerStatuses: [running("s", { started: true, restartCount: 1 })],
        containerStatuses: [running("a"), running("b")],
      },
      {},
      ["3/3", "Running", "1"],
    ],
  ])("%s", (_title, spec, status, metadata, wanted) => {
    expect(cells(made(spec, status, metadata))).toEqual(wanted)
  })

  test("wide columns show addresses and node of the pod", () => {
    const pod = made(
      { nodeName: "n", readinessGates: [{ conditionType: "x" }, { conditionType: "y" }] },
      { podIPs: [{ ip: "10.0.0.1" }], conditions: [{ type: "x", status: "True" }] },
    )
    expect(Pod.columns!.filter(({ priority }) => priority === 1).map(({ value }) => value(pod, NOW))).toEqual([
      "10.0.0.1",
      "n",
      undefined,
      "1/2",
    ])
  })

  test.each([
    ["Running", undefined],
    ["Succeeded", "The pod has completed successfully."],
    ["Failed", "The pod failed."],
  ])("the row of a pod that is %s has a condition that says whether the pod has completed", (phase, message) => {
    expect(Pod.rowConditions!(made({}, { phase })).map((condition) => condition.message)).toEqual(
      message === undefined ? [] : [message],
    )
  })
})
