/** Crashes and restarts: running pods keep running, and acknowledged writes are kept. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { hostname, tmpdir } from "node:os"
import { join } from "node:path"
import { Deployment } from "../../../pkg/api/apps/v1/deployment.ts"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { isPodReady } from "../../../pkg/pods/pod-state.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { BUSYBOX, describeOnNode, startCluster, stay, WEB, type Cluster } from "../../harness/cluster.ts"
import { run } from "../../harness/kubectl.ts"
import { ownTime } from "../../harness/own-time.ts"
import { EXECUTABLE, NEWER_VERSION, startServer, uninstallArgs, type TestServer } from "../../harness/server.ts"

describeOnNode("a node", () => {
  const dataDir = mkdtempSync(join(tmpdir(), "k3ts-recovery-"))
  let cluster: Cluster
  let server: TestServer
  let address: string
  const curl = async () => (await run("curl", ["-s", "-m", "3", `http://${address}/`])).out

  /** Returns the differences if a pod has other containers than before. */
  const identities = async () =>
    (await cluster.client.list(Pod, { namespace: "default", labelSelector: "app=web" })).items
      .map(({ metadata, status }) => ({
        name: metadata.name,
        ip: status.podIP,
        containers: status.containerStatuses?.map(({ containerID, restartCount, state }) => ({
          containerID,
          restartCount,
          state,
        })),
      }))
      .sort((a, b) => (a.name! < b.name! ? -1 : 1))
  const startAgain = async (program?: readonly string[]) => {
    server = await startServer({ agent: true, dataDir, port: cluster.server.port, ...(program ? { program } : {}) })
    const before = Date.now()
    await cluster.until(
      Node,
      hostname().toLowerCase(),
      ({ status }) =>
        status.conditions?.some(
          ({ type, status, lastHeartbeatTime }) =>
            type === "Ready" && status === "True" && Date.parse(lastHeartbeatTime ?? "") >= before - 5000,
        ) === true,
    )
  }
  /** Starts a pod. Once it runs, the kubelet works again and has seen all other pods. */
  const works = async (name: string) => {
    await cluster.runPod(name, { containers: [{ name: "c", image: BUSYBOX, command: stay() }] })
    expect(await cluster.kubectl.sh(name, "echo works")).toBe("works\n")
  }

  beforeAll(async () => {
    cluster = await startCluster({ dataDir })
    server = cluster.server
    const template = {
      metadata: { labels: { app: "web" } },
      spec: { containers: [{ name: "web", image: WEB, readinessProbe: { httpGet: { port: 80 }, periodSeconds: 1 } }] },
    }
    await cluster.create(Deployment, {
      metadata: { name: "web", namespace: "default" },
      spec: { replicas: 2, selector: { matchLabels: { app: "web" } }, template },
    })
    address = (
      await cluster.create(Service, {
        metadata: { name: "web", namespace: "default" },
        spec: { selector: { app: "web" }, ports: [{ port: 80 }] },
      })
    ).spec.clusterIP!
    await cluster.kubectl.ok("rollout status deploy/web --timeout=30s")
    while (!(await curl()).includes("k3ts web 1")) await Bun.sleep(20)
  }, 60_000)
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]()
    await cluster?.[Symbol.asyncDispose]()
    await run(EXECUTABLE, uninstallArgs(dataDir))
    rmSync(dataDir, { recursive: true, force: true })
  })

  describe("after kill -9", () => {
    test("has every acknowledged write, and adopts its pods, which kept running", async () => {
      // given pods, and a write that was acknowledged last before the kill
      const before = await identities()
      expect(before).toHaveLength(2)
      await cluster.create(ConfigMap, { metadata: { name: "promised", namespace: "default" }, data: { a: "b" } })
      // when the server is killed
      await server.kill("SIGKILL")
      // then the pods still serve, also through their Service
      expect(await curl()).toContain("k3ts web 1")
      // when the server is back, then the pods are the same
      await startAgain()
      expect((await cluster.client.get(ConfigMap, { name: "promised", namespace: "default" })).data).toEqual({ a: "b" })
      await works("after-kill")
      expect(await identities()).toEqual(before)
      expect(await curl()).toContain("k3ts web 1")
      expect(await cluster.log(before[0]!.name!)).toContain("web 1: serving")
    }, 60_000)
  })

  describe("after SIGTERM", () => {
    test("ends within 5 s, leaves its pods running, and adopts them at its next start", async () => {
      const before = await identities()
      const time = ownTime(server.pid)
      expect(await server.kill("SIGTERM")).toBe(0)
      expect(time.read()).toBeLessThan(5000)
      expect(await curl()).toContain("k3ts web 1")
      await startAgain()
      await works("after-term")
      expect(await identities()).toEqual(before)
    }, 60_000)
  })

  describe("with a newer version", () => {
    test("and new certificates, keeps its pods, and keeps them again with the older version", async () => {
      const before = await identities()
      await server.kill("SIGTERM")
      const rotated = await run(EXECUTABLE, ["certificate", "rotate", "--config=/dev/null", `--data-dir=${dataDir}`])
      expect(rotated.out).toContain("serving-kubelet: the next start makes a new certificate")
      expect(await curl()).toContain("k3ts web 1")
      await startAgain(NEWER_VERSION)
      expect(server.output()).toContain("version=9.9.9")
      await works("after-upgrade")
      expect(await identities()).toEqual(before)
      await server.kill("SIGTERM")
      await startAgain()
      await works("after-downgrade")
      expect(await identities()).toEqual(before)
      expect(await curl()).toContain("k3ts web 1")
    }, 90_000)
  })

  describe("whose containerd is killed", () => {
    test("starts it again, and pods keep running", async () => {
      const before = await identities()
      const pids = readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && isOurContainerd(pid))
      expect(pids).toHaveLength(1)
      process.kill(Number(pids[0]), "SIGKILL")
      expect(await curl()).toContain("k3ts web 1")
      await works("after-containerd")
      expect(await identities()).toEqual(before)
      expect(readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && isOurContainerd(pid))).not.toEqual(pids)
    }, 60_000)
  })

  function isOurContainerd(pid: string): boolean {
    try {
      const [program = "", ...args] = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")
      return program.endsWith("containerd") && args.some((arg) => arg.startsWith(dataDir))
    } catch {
      return false
    }
  }

  test("restarts a container that has ended, and not the others of its pod", async () => {
    const container = (name: string) => ({ name, image: BUSYBOX, command: stay() })
    const before = await cluster.runPod("two", { containers: [container("a"), container("b")] })
    await cluster.kubectl.run(["exec", "two", "-c", "a", "--", "kill", "1"])
    const after = await cluster.pod(
      "two",
      (pod) => isPodReady(pod) && pod.status.containerStatuses?.find(({ name }) => name === "a")?.restartCount === 1,
    )
    const id = (pod: Pod, name: string) =>
      pod.status.containerStatuses?.find((status) => status.name === name)?.containerID
    expect(id(after, "b")).toBe(id(before, "b")!)
    expect(id(after, "a")).not.toBe(id(before, "a")!)
    expect(after.status.podIP).toBe(before.status.podIP!)
  })

  test("runs static pods from files, shows them, follows changes, and ends them with their file", async () => {
    const file = join(dataDir, "agent/pod-manifests/static.yaml")
    const name = `static-${hostname().toLowerCase()}`
    const manifest = (value: string) =>
      "apiVersion: v1\nkind: Pod\nmetadata: { name: static, namespace: default }\nspec:\n  " +
      `terminationGracePeriodSeconds: 1\n  containers: [{ name: c, image: "${BUSYBOX}", command: ["sh", "-c", ` +
      `"trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done"], env: [{ name: V, value: ${value} }] }]\n`
    writeFileSync(file, manifest("one"))
    const first = await cluster.pod(name)
    expect(first.metadata.annotations).toHaveProperty(["kubernetes.io/config.mirror"])
    expect(await cluster.kubectl.sh(name, "echo $V")).toBe("one\n")
    writeFileSync(file, manifest("two"))
    await cluster.pod(name, (pod) => isPodReady(pod) && pod.metadata.uid !== first.metadata.uid)
    expect(await cluster.kubectl.sh(name, "echo $V")).toBe("two\n")
    rmSync(file)
    await cluster.gone(Pod, name)
  }, 60_000)

  test("applies manifests from files, follows changes, and removes the objects of a removed file", async () => {
    const file = join(dataDir, "server/manifests/mine.yaml")
    const manifest = (value: string) =>
      `apiVersion: v1\nkind: ConfigMap\nmetadata: { name: from-file, namespace: default }\ndata: { v: ${value} }\n`
    writeFileSync(file, manifest("one"))
    await cluster.until(ConfigMap, "from-file", ({ data }) => data?.["v"] === "one")
    writeFileSync(file, manifest("two"))
    await cluster.until(ConfigMap, "from-file", ({ data }) => data?.["v"] === "two")
    rmSync(file)
    await cluster.gone(ConfigMap, "from-file")
  })
})
