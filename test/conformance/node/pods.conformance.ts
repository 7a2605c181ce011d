/** Pods over their lives. After test/e2e/common/node/pods.go and test/e2e/node/pods.go. */
import { expect } from "bun:test"
import { stay } from "../../harness/cluster.ts"
import WebSocket from "ws"
import { condition } from "../workloads/workload-cluster.ts"
import { type TestNamespace } from "./namespace.ts"
import { describeStandIns } from "./stand-in.ts"

/** Returns the messages of a WebSocket to a pod until the server closes it, as bytes. */
function received(ns: TestNamespace, path: string, protocol: string): Promise<readonly Buffer[]> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`wss://127.0.0.1:${ns.cluster.port}${ns.path}/pods/pod/${path}`, protocol, {
      headers: { authorization: `Bearer ${ns.cluster.token}` },
      rejectUnauthorized: false,
    })
    const messages: Buffer[] = []
    socket.on("message", (data: Buffer) => messages.push(data))
    socket.on("error", reject)
    socket.on("close", () => resolve(messages))
  })
}

describeStandIns("pods", (standIn) => {
  standIn("Pods should be submitted and removed", async (ns) => {
    const path = `${ns.path}/pods?labelSelector=time%3Dnow`
    expect((await ns.cluster.get(path)).items).toEqual([])
    const watch = await ns.cluster.watch(path)
    await ns.createPod("pod", { metadata: { labels: { time: "now" } }, containers: [{ command: stay() }] })
    expect((await ns.cluster.get(path)).items).toHaveLength(1)
    expect((await watch.until((events) => events.length > 0))[0]!.type).toBe("ADDED")
    await ns.untilPod("pod", (pod) => pod?.status.phase === "Running")
    await ns.cluster.delete(`${ns.path}/pods/pod`, { gracePeriodSeconds: 30 })
    const last = (await watch.until((events) => events.at(-1)?.type === "DELETED")).at(-1)!.object
    expect([last.metadata.deletionTimestamp === undefined, last.spec["terminationGracePeriodSeconds"]]).toEqual([
      false,
      1,
    ])
    expect((await ns.cluster.get(path)).items).toEqual([])
    watch.close()
  })

  standIn("Pods should allow activeDeadlineSeconds to be updated", async (ns) => {
    const pod = await ns.runPod("pod", { metadata: { labels: { time: "now" } } })
    expect((await ns.cluster.get(`${ns.path}/pods?labelSelector=time%3Dnow`)).items).toHaveLength(1)
    await ns.cluster.patch(`${ns.path}/pods/pod`, "merge", { spec: { activeDeadlineSeconds: 5 } })
    const ended = await ns.untilPod("pod", (found) => found?.status.phase === "Failed")
    expect([ended.status["reason"], pod.status.phase]).toEqual(["DeadlineExceeded", "Running"])
  })

  standIn("Pods should support remote command execution over websockets", async (ns) => {
    await ns.runPod("pod", { containers: [{ command: stay("echo container is alive") }] })
    const messages = await received(
      ns,
      "exec?stderr=1&stdout=1&container=c&command=echo&command=remote+execution+test",
      "channel.k8s.io",
    )
    const full = messages.filter((message) => message.length > 1)
    expect(new Set(full.map((message) => message[0]))).toEqual(new Set([1]))
    expect(Buffer.concat(full.map((message) => message.subarray(1))).toString()).toBe("remote execution test\n")
  })

  standIn("Pods should support retrieving logs from the container over websockets", async (ns) => {
    await ns.runPod("pod", { containers: [{ command: stay("echo container is alive") }] })
    await ns.untilLog("pod", (log) => log !== "")
    const messages = await received(ns, "log?container=c", "binary.k8s.io")
    expect(Buffer.concat(messages).toString()).toBe("container is alive\n")
  })

  standIn(
    "Pods Extended (pod generation) Pod Generation issue 500 podspec updates and verify generation and observedGeneration eventually converge",
    async (ns) => {
      const pod = await ns.runPod("pod", { activeDeadlineSeconds: 5000 })
      expect(pod.metadata.generation).toBe(1)
      for (let i = 1; i < 500; i++)
        await ns.cluster.patch(`${ns.path}/pods/pod`, "merge", { spec: { activeDeadlineSeconds: 5000 - i } })
      const settled = await ns.untilPod("pod", (found) => found?.status.observedGeneration === 500)
      expect([settled.metadata.generation, condition(settled, "Ready")?.status]).toEqual([500, "True"])
    },
  )
})
