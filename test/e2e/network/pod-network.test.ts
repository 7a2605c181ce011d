/**
 * The network of pods on a real node: bandwidth limits, a killed server, and a CNI configuration of the administrator.
 */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { BUSYBOX, describeOnNode, startCluster, stay, type Cluster } from "../../harness/cluster.ts"
import { run } from "../../harness/kubectl.ts"
import { EXECUTABLE, startServer, uninstallArgs, type TestServer } from "../../harness/server.ts"

const ADDRESSES = "/run/k3ts/cni/networks/k3ts"
const CONFIGURATION = "agent/etc/cni/net.d"

describeOnNode("the network of pods", () => {
  const dataDir = mkdtempSync(join(tmpdir(), "k3ts-pod-network-"))
  let cluster: Cluster
  let server: TestServer
  beforeAll(async () => {
    cluster = await startCluster({ dataDir })
    server = cluster.server
  }, 60_000)
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
    await cluster[Symbol.asyncDispose]()
    await run(EXECUTABLE, uninstallArgs(dataDir))
    rmSync(dataDir, { recursive: true, force: true })
  }, 30_000)

  const pod = (name: string, annotations: Record<string, string> = {}) =>
    cluster.runPod(name, { containers: [{ name: "c", image: BUSYBOX, command: stay() }] }, { annotations })
  const reaches = async (from: string, address: string) =>
    (await cluster.kubectl.sh(from, `ping -c 1 -W 2 ${address} >/dev/null && echo yes || echo no`)).trim() === "yes"
  const kept = () => readdirSync(ADDRESSES).filter((name) => /^\d+\./.test(name))

  test("limits the bandwidth of a pod with the annotations for it, until the pod is removed", async () => {
    const limits = async () => (await run("tc", ["qdisc"])).out.match(/ tbf /g)?.length ?? 0
    const before = await limits()
    await pod("limited", { "kubernetes.io/ingress-bandwidth": "8M", "kubernetes.io/egress-bandwidth": "4M" })
    expect(await limits()).toBe(before + 2)
    await cluster.client.delete(Pod, { namespace: "default", name: "limited" }, { gracePeriodSeconds: 0 })
    // The network is removed after the object, which is deleted at once.
    while ((await limits()) > before) await Bun.sleep(20)
  }, 30_000)

  test("keeps the pods' addresses when the server is killed, and frees addresses that no pod has", async () => {
    // given a pod, and an address that a crash has left behind
    const first = await pod("first")
    await server.kill("SIGKILL")
    writeFileSync(join(ADDRESSES, "10.42.0.250"), "a-container-that-never-was\r\neth0")
    // when the server is back
    server = await startServer({ agent: true, dataDir, port: server.port })
    const second = await pod("second")
    // then the pod has its address, a new pod has another one, and they reach each other
    expect((await cluster.client.get(Pod, { namespace: "default", name: "first" })).status.podIP).toBe(
      first.status.podIP!,
    )
    expect(second.status.podIP).not.toBe(first.status.podIP)
    expect(await reaches("second", first.status.podIP!)).toBe(true)
    expect(kept()).not.toContain("10.42.0.250")
    // and the address of a deleted pod is free again
    await cluster.client.delete(Pod, { namespace: "default", name: "second" }, { gracePeriodSeconds: 0 })
    while (kept().includes(second.status.podIP!)) await Bun.sleep(20)
  }, 60_000)

  test("is set up by the administrator's CNI configuration if that sorts first", async () => {
    // given a configuration with a chain of the host's plugins
    const path = join(dataDir, CONFIGURATION, "05-own.conflist")
    const ipam = { type: "host-local", ranges: [[{ subnet: "10.96.7.0/24" }]], routes: [{ dst: "0.0.0.0/0" }] }
    const plugins = [
      { type: "bridge", bridge: "k3ts-own", isGateway: true, ipam: { ...ipam, dataDir: join(dataDir, "own") } },
      { type: "portmap", capabilities: { portMappings: true } },
    ]
    writeFileSync(path, JSON.stringify({ cniVersion: "1.0.0", name: "own", plugins }))
    // then new pods are in that network, once containerd has read the configuration
    let address = ""
    for (let i = 0; !address.startsWith("10.96.7."); i++) address = (await pod(`own-${i}`)).status.podIP!
    expect(await reaches(`own-0`, "127.0.0.1")).toBe(true)
    // and when it is removed, new pods are in the network of k3ts again
    rmSync(path)
    for (let i = 0; !address.startsWith("10.42."); i++) address = (await pod(`ours-${i}`)).status.podIP!
    expect(await reaches("first", address)).toBe(true)
    await run("ip", ["link", "delete", "k3ts-own"])
    expect(existsSync("/sys/class/net/k3ts-own")).toBe(false)
  }, 60_000)
})
