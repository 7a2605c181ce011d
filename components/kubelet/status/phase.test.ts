import { describe, expect, test } from "bun:test"
import type { ContainerStatus } from "../../../pkg/api/core/v1/pod/podstatus.ts"
import { podOf } from "../testing/pod.ts"
import { phaseOf } from "./phase.ts"

type How = "waiting" | "running" | "started" | number | "crashed" | "removed"
const status = (name: string, how: How): ContainerStatus => ({
  name,
  image: "",
  imageID: "",
  restartCount: 0,
  ready: how === 0,
  started: how === "started",
  state:
    how === "running" || how === "started"
      ? { running: {} }
      : typeof how === "number"
        ? { terminated: { exitCode: how } }
        : { waiting: {} },
  lastState:
    how === "crashed"
      ? { terminated: { exitCode: 1 } }
      : how === "removed"
        ? { terminated: { exitCode: 137, reason: "RestartingAllContainers" } }
        : {},
})

const rows: readonly (readonly [string, "Always" | "OnFailure" | "Never", readonly How[], boolean, string])[] = [
  ["a container that waits", "Always", ["waiting"], false, "Pending"],
  ["a container that waits beside one that runs", "Always", ["waiting", "running"], false, "Pending"],
  ["all run", "Always", ["running", "running"], false, "Running"],
  ["a container that ended and will be restarted", "Always", [0], false, "Running"],
  ["a container that waits after a crash", "Always", ["crashed"], false, "Running"],
  ["a container that failed and will be restarted", "OnFailure", [1], false, "Running"],
  ["all succeeded", "OnFailure", [0, 0], false, "Succeeded"],
  ["all succeeded", "Never", [0, 0], false, "Succeeded"],
  ["one failed for good", "Never", [0, 1], false, "Failed"],
  ["one failed and one runs", "Never", [1, "running"], false, "Running"],
  ["deleted, and the container exited with 0", "Always", [0], true, "Succeeded"],
  ["deleted, and a container was killed", "Always", [137, 0], true, "Failed"],
  ["deleted before its container ran", "Always", ["waiting"], true, "Failed"],
  ["deleted when only one of two containers had run", "Never", [0, "waiting"], true, "Failed"],
]

describe("the phase of a pod", () => {
  test.each(rows)("%s (%s)", (_title, restartPolicy, hows, terminal, phase) => {
    const names = hows.map((_, i) => `c${i}`)
    const pod = podOf({ restartPolicy, containers: names.map((name) => ({ name, image: "i" })) })
    expect(
      phaseOf(
        pod,
        [],
        hows.map((how, i) => status(`c${i}`, how)),
        terminal,
      ),
    ).toBe(phase as "Pending")
  })

  test.each([
    ["an init container that runs", "Always", "running", "Pending"],
    ["an init container that failed and will be restarted", "OnFailure", 1, "Pending"],
    ["an init container that failed for good", "Never", 1, "Failed"],
    ["an init container that has succeeded", "Always", 0, "Pending"],
  ] as const)("%s (%s)", (_title, restartPolicy, how, phase) => {
    const pod = podOf({ restartPolicy, initContainers: [{ name: "i", image: "i" }] })
    expect(phaseOf(pod, [status("i", how)], [status("c", "waiting")], false)).toBe(phase)
  })

  test("is Running until sidecars have ended too", () => {
    const pod = podOf({ restartPolicy: "Never", initContainers: [{ name: "s", image: "i", restartPolicy: "Always" }] })
    expect(phaseOf(pod, [status("s", "started")], [status("c", 0)], true)).toBe("Running")
    expect(phaseOf(pod, [status("s", 137)], [status("c", 0)], true)).toBe("Succeeded")
  })

  // Source: TestPodPhaseWithRestartAllContainers in pkg/kubelet/kubelet_pods_test.go.
  test.each([
    ["a container that ended with its code", [], [42], "Running"],
    ["a container that was removed", [], ["removed"], "Running"],
    ["an init container that ended with its code", [42], ["waiting"], "Pending"],
    ["an init container that was removed before a container began", ["removed"], ["waiting"], "Pending"],
    ["a removed container whose init container succeeded again", [0], ["removed"], "Running"],
    ["a removed container whose init container failed then", [1], ["removed"], "Failed"],
    ["both of them removed", ["removed"], ["removed"], "Running"],
  ] as const)("with the rule RestartAllContainers, %s", (_title, [init], [how], phase) => {
    const restartPolicyRules = [
      { action: "RestartAllContainers", exitCodes: { operator: "In", values: [42] } },
    ] as const
    const rule = { image: "i", restartPolicy: "Never", restartPolicyRules } as const
    const pod = podOf({
      restartPolicy: "Never",
      containers: [{ name: "c", ...rule }],
      ...(init === undefined ? {} : { initContainers: [{ name: "i", ...rule }] }),
    })
    const initStatuses = init === undefined ? [] : [status("i", init)]
    expect(phaseOf(pod, initStatuses, [status("c", how)], false)).toBe(phase)
  })
})
