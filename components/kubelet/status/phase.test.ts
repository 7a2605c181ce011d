import { describe, expect, test } from "bun:test"
import type { ContainerStatus } from "../../../pkg/api/core/v1/pod/podstatus.ts"
import { podOf } from "../testing/pod.ts"
import { phaseOf } from "./phase.ts"

type How = "waiting" | "running" | "started" | number | "crashed"
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
  lastState: how === "crashed" ? { terminated: { exitCode: 1 } } : {},
})

const rows: readonly (readonly [string, "Always" | "OnFailure" | "Never", readonly How[], boolean, string])[] = [
  ["a container that waits", "Always", ["waiting"], false, "Pending"],
  ["one that waits beside one that runs", "Always", ["waiting", "running"], false, "Pending"],
  ["all run", "Always", ["running", "running"], false, "Running"],
  ["one ended and will be started again", "Always", [0], false, "Running"],
  ["one that waits after a crash", "Always", ["crashed"], false, "Running"],
  ["one failed and will be started again", "OnFailure", [1], false, "Running"],
  ["all succeeded, once for all", "OnFailure", [0, 0], false, "Succeeded"],
  ["all succeeded, never again", "Never", [0, 0], false, "Succeeded"],
  ["one failed, never again", "Never", [0, 1], false, "Failed"],
  ["one failed and one runs", "Never", [1, "running"], false, "Running"],
  ["deleted after it ran well", "Always", [0], true, "Succeeded"],
  ["deleted and killed", "Always", [137, 0], true, "Failed"],
  ["deleted before it ran", "Always", ["waiting"], true, "Failed"],
  ["deleted when only one had run", "Never", [0, "waiting"], true, "Failed"],
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
    ["one that failed and is tried again", "OnFailure", 1, "Pending"],
    ["one that failed for good", "Never", 1, "Failed"],
    ["one that is done", "Always", 0, "Pending"],
  ] as const)("%s (%s)", (_title, restartPolicy, how, phase) => {
    const pod = podOf({ restartPolicy, initContainers: [{ name: "i", image: "i" }] })
    expect(phaseOf(pod, [status("i", how)], [status("c", "waiting")], false)).toBe(phase)
  })

  test("is Running until sidecars have ended too", () => {
    const pod = podOf({ restartPolicy: "Never", initContainers: [{ name: "s", image: "i", restartPolicy: "Always" }] })
    expect(phaseOf(pod, [status("s", "started")], [status("c", 0)], true)).toBe("Running")
    expect(phaseOf(pod, [status("s", 137)], [status("c", 0)], true)).toBe("Succeeded")
  })
})
