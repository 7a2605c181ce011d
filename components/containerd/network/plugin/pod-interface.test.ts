/** Tests what happens to the other steps when one step fails, with a kernel that accepts every message. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { message } from "../../../../pkg/netlink/message.ts"
import type { NetlinkFile } from "../../../../pkg/netlink/socket.ts"
import { NO_RULES } from "../sources/source-guard.ts"
import type { CniCall } from "./cni.ts"
import { networkOf } from "./network-config.ts"
import { PodAddresses } from "./pod-addresses.ts"
import { addPod, collect } from "./pod-interface.ts"
import type { PluginProcess } from "./plugin-process.ts"

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "k3ts-pod-interface-"))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** A process that cannot enter a namespace; netlink works in it until it ends. */
function process() {
  let isEnded = false
  let hasReply = false
  const file: NetlinkFile = {
    async send() {
      if (isEnded) throw new Error("the plugin's process has ended")
      hasReply = true
    },
    async receive() {
      if (!hasReply) return undefined
      hasReply = false
      return message(NEWLINK, 0, Buffer.alloc(16))
    },
  }
  const made = {
    netlink: async () => file,
    async enter() {
      isEnded = true
      throw new Error("no such namespace")
    },
  }
  return made as unknown as PluginProcess
}
const NEWLINK = 16

function callWith(config: Record<string, unknown>): CniCall {
  const ipam = { ranges: [[{ subnet: "10.98.0.0/24" }]], dataDir: folder }
  return {
    command: "ADD",
    containerId: "web",
    interface: "eth0",
    namespace: "/run/netns/web",
    environment: new Map(),
    config: { cniVersion: "1.1.0", name: "k3ts", bridge: "cni0", mtu: 1400, ipam, ...config },
  }
}

test("a pod that cannot be added fails with the first error, even if the clean-up fails too", async () => {
  const call = callWith({ name: "ended" })
  const tools = { rules: NO_RULES, chain: async () => undefined, wait: async () => undefined }
  await expect(addPod(process(), call, networkOf(call), tools)).rejects.toThrow("no such namespace")
})

test("a pod that cannot be removed does not stop the removal of others that the runtime has forgotten", async () => {
  // given three pods that the runtime does not know, one of which cannot be removed
  const call = callWith({ name: "collected" })
  const network = networkOf(call)
  const addresses = new PodAddresses(network.addresses)
  for (const containerId of ["a", "b", "c"]) addresses.allocate(network.ranges, { containerId, interface: "eth0" })
  const stubborn = addresses.of({ containerId: "b", interface: "eth0" })
  const rules = {
    ...NO_RULES,
    async forget(pod: { readonly addresses: readonly string[] }) {
      if (pod.addresses[0] === stubborn[0]) throw new Error("no table")
    },
  }
  // then its error is thrown, and the others are gone
  await expect(collect(process(), call, network, rules)).rejects.toThrow("no table")
  expect([...addresses.all().keys()]).toEqual([...stubborn])
})
