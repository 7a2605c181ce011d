import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { isPodReady } from "../../../pkg/pods/pod-state.ts"
import { IMAGE, kubeletOnContainerd, MISSING, sh, type KubeletOnContainerd } from "./kubelet-on-containerd.ts"

describe.skipIf(MISSING.length > 0)("the kubelet on containerd, for a pod that changes while it runs,", () => {
  let node: KubeletOnContainerd
  beforeAll(async () => {
    node = await kubeletOnContainerd()
  }, 60_000)
  afterAll(async () => expect(await node.stop()).toEqual({ mounts: [], failures: [] }), 60_000)

  test("starts all containers again when one ends with the exit code of its rule, init containers first", async () => {
    // given a pod that must not restart but for this rule, and a volume by which its container knows that it ran
    const shared = { volumeMounts: [{ name: "shared", mountPath: "/shared" }] }
    const log = (name: string) => `echo ${name} >> /shared/log`
    const runs = "trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done"
    const again = `if [ -f /shared/ran ]; then ${runs}; else touch /shared/ran; sleep 2; exit 42; fi`
    await node.create("again", {
      restartPolicy: "Never",
      volumes: [{ name: "shared", emptyDir: {} }],
      initContainers: [
        { name: "init", image: IMAGE, command: sh(log("init")), ...shared },
        { name: "side", image: IMAGE, command: sh(`${log("side")}; ${runs}`), restartPolicy: "Always", ...shared },
      ],
      containers: [
        {
          name: "source",
          image: IMAGE,
          command: sh(`${log("source")}; ${again}`),
          restartPolicy: "Never",
          restartPolicyRules: [{ action: "RestartAllContainers", exitCodes: { operator: "In", values: [42] } }],
          ...shared,
        },
        // It waits for the other, so that the order of the two is known.
        { name: "app", image: IMAGE, command: sh(`sleep 1; ${log("app")}; ${runs}`), ...shared },
      ],
    })
    const all = ({ status: { initContainerStatuses = [], containerStatuses = [] } }: Pod) => [
      ...initContainerStatuses,
      ...containerStatuses,
    ]
    // when it has ended once
    const running = await node.pod(
      "again",
      (pod) => all(pod).every(({ restartCount }) => restartCount === 1) && isPodReady(pod),
    )
    // then all of them have begun again, in the same sandbox with the same address
    expect(all(running).map(({ lastState }) => lastState.terminated?.reason)).toEqual(
      Array(4).fill("RestartingAllContainers"),
    )
    expect(running.status.conditions).toContainEqual(
      expect.objectContaining({ type: "AllContainersRestarting", status: "False" }),
    )
    expect(await node.events("again")).not.toContain("SandboxChanged")
    const written = join(
      node.folder,
      `data/agent/kubelet/pods/${running.metadata.uid}/volumes/kubernetes.io~empty-dir/shared/log`,
    )
    await node.cluster.eventually(() => readFileSync(written, "utf8").trim().split("\n").length === 8)
    expect(readFileSync(written, "utf8").trim().split("\n")).toEqual(
      Array(2).fill(["init", "side", "source", "app"]).flat(),
    )
    await node.cluster.client.delete(Pod, { name: "again", namespace: "default" })
    await node.gone("again")
  }, 60_000)

  test("changes the cgroups of a pod and its containers when the resources of the pod as a whole are resized", async () => {
    // given a pod with resources of its own, of which a container without limits has the most that the pod may have
    const whole = (cpu: string, memory: string) => ({ requests: { cpu, memory }, limits: { cpu, memory } })
    const v2 = existsSync("/sys/fs/cgroup/cgroup.controllers")
    const [memory, cpu] = v2 ? ["/memory.max", "/cpu.max"] : ["/memory/memory.limit_in_bytes", "/cpu/cpu.cfs_quota_us"]
    const pod = await node.create("whole", {
      resources: whole("250m", "64Mi"),
      containers: [{ name: "c", image: IMAGE, command: sh("trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done") }],
    })
    await node.pod("whole", isPodReady)
    /** The limits of the pod's cgroup, and of the only container in it. */
    const limits = () => {
      const [, hierarchy, file] = /^(\/[a-z]+)?(\/[^/]+)$/.exec(memory)!
      const [, cpuHierarchy, cpuFile] = /^(\/[a-z]+)?(\/[^/]+)$/.exec(cpu)!
      const folder = (root = "") => `/sys/fs/cgroup${root}/kubepods/pod${pod.metadata.uid}`
      const read = (path: string) => readFileSync(path, "utf8").trim().split(" ")[0]
      return {
        memory: read(folder(hierarchy) + file),
        cpu: read(folder(cpuHierarchy) + cpuFile),
        containers: readdirSync(folder(hierarchy), { withFileTypes: true })
          .filter((entry) => entry.isDirectory())
          .map(({ name }) => read(`${folder(hierarchy)}/${name}${file}`)),
      }
    }
    const MIB = 2 ** 20
    expect(limits()).toMatchObject({ memory: String(64 * MIB), cpu: "25000" })
    // when it grows and shrinks again
    for (const [wanted, mib, quota] of [
      [whole("500m", "128Mi"), 128, "50000"],
      [whole("250m", "96Mi"), 96, "25000"],
    ] as const) {
      await node.cluster.client.patch(
        Pod,
        { name: "whole", namespace: "default" },
        { type: "strategic", body: { spec: { resources: wanted } } },
        { subresource: "resize" },
      )
      const resized = await node.pod(
        "whole",
        ({ status }) =>
          status.resources?.limits?.["memory"] === `${mib}Mi` &&
          status.conditions?.some(({ type }) => type === "PodResizeInProgress") === false,
      )
      // then the cgroups have it, and the container runs on
      expect(limits()).toMatchObject({ memory: String(mib * MIB), cpu: quota })
      expect(limits().containers).toContain(String(mib * MIB))
      expect(resized.status).toMatchObject({ allocatedResources: wanted.requests, resources: wanted })
      expect(resized.status.containerStatuses![0]!.restartCount).toBe(0)
    }
    expect(await node.events("whole")).toEqual(expect.arrayContaining(["ResizeStarted", "ResizeCompleted"]))
    // and it keeps memory that is in use
    await node.cluster.client.patch(
      Pod,
      { name: "whole", namespace: "default" },
      { type: "strategic", body: { spec: { resources: whole("250m", "4Ki") } } },
      { subresource: "resize" },
    )
    const kept = await node.pod(
      "whole",
      ({ status }) => status.conditions?.some(({ reason }) => reason === "Error") === true,
    )
    expect(kept.status.conditions!.find(({ reason }) => reason === "Error")!.message).toStartWith(
      "cannot decrease memory limits: ",
    )
    expect(limits()).toMatchObject({ memory: String(96 * MIB) })
    await node.cluster.client.delete(Pod, { name: "whole", namespace: "default" })
    await node.gone("whole")
  }, 60_000)
})
