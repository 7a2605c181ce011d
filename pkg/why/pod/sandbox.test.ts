import { expect, test } from "bun:test"
import type { Pod } from "../../api/core/v1/pod/pod.ts"
import type { Ward } from "../doctor.ts"
import { sandboxFindings } from "./sandbox.ts"

/** What runc says on a machine with cgroups of version 1. */
const MESSAGE =
  "Failed to create pod sandbox: runc create failed: unable to apply cgroup configuration: " +
  "mkdir /sys/fs/cgroup/memory/kubepods/burstable/pod1/2: cannot allocate memory: unknown"

function asked(memory: string) {
  const metadata = { name: "web", namespace: "default", uid: "1" }
  const resources = { limits: { memory } }
  const pod = { kind: "Pod", metadata, spec: { containers: [{ name: "c", resources }] } } as unknown as Pod
  const event = {
    reason: "FailedCreatePodSandBox",
    message: MESSAGE,
    metadata,
    involvedObject: { ...metadata, kind: "Pod" },
  }
  const ward = { reader: { listIfAllowed: () => Promise.resolve([event]) } } as unknown as Ward
  return sandboxFindings(pod, ward)
}

test("a sandbox for which a memory limit has no room is told of with the limit, and with what it perhaps means", async () => {
  // when
  const [found] = await asked("64m")
  // then
  expect(found?.cause.code).toBe("memory-limit-too-low")
  expect(found?.hints).toEqual(["raise the memory limit: 64m are thousandths of bytes, and perhaps 64Mi is meant"])
})

test("a sandbox that cannot be made for lack of memory, though its limit is large enough, is told of as it is", async () => {
  // when
  const [found] = await asked("64Mi")
  // then
  expect(found?.cause.code).toBe("sandbox-failed")
})
