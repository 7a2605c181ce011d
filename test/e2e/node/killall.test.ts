import { afterAll, beforeAll, expect, test } from "bun:test"
import { spawn, type ChildProcess } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { NetworkPolicy } from "../../../pkg/api/networking/v1/networkpolicy.ts"
import { BUSYBOX, describeOnNode, startCluster, stay, WEB } from "../../harness/cluster.ts"
import { run } from "../../harness/kubectl.ts"
import { EXECUTABLE, uninstallArgs } from "../../harness/server.ts"

/** Mounts and interfaces of nodes of other tests, which may change meanwhile. */
const FOREIGN = /\/k3ts-(kubelet|containerd)-|^veth|^k3ts-[kc]\d+$/

/** Returns the part of the machine's state that a node changes. */
async function machine() {
  const found = await look()
  return Object.fromEntries(Object.entries(found).map(([what, all]) => [what, all.filter((one) => !FOREIGN.test(one))]))
}

async function look() {
  const lines = async (command: string, ...args: string[]) => (await run(command, args)).out.split("\n")
  const commands = readdirSync("/proc")
    .filter((pid) => /^\d+$/.test(pid))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim()
      } catch {
        return ""
      }
    })
  return {
    links: (await lines("ip", "-o", "link")).map((line) => line.split(": ")[1] ?? "").sort(),
    namespaces: (await lines("ip", "netns")).sort(),
    rules: (await lines("iptables-save"))
      .filter((line) => line.startsWith("-A") || (line.startsWith(":") && !/^:[A-Z]+ (ACCEPT|DROP)/.test(line)))
      .sort(),
    tables: (await lines("nft", "list", "tables")).sort(),
    mounts: readFileSync("/proc/self/mountinfo", "utf8")
      .split("\n")
      .map((line) => line.split(" ")[4] ?? "")
      .sort(),
    containers: commands.filter((command) => /containerd|httpd/.test(command)).sort(),
    // The cgroups of pods, in every hierarchy.
    cgroups: (await lines("find", "/sys/fs/cgroup", "-type", "d", "-path", "*/kubepods*")).sort(),
  }
}

/** The folders of logs of this test's pods. */
const logsOfPods = (): readonly string[] =>
  existsSync("/var/log/pods") ? readdirSync("/var/log/pods").filter((name) => name.startsWith("default_killall-")) : []

describeOnNode("k3ts killall", () => {
  const folder = mkdtempSync(join(tmpdir(), "k3ts-others-"))
  let somebody: ChildProcess
  const other = `k3tsother${process.pid % 10_000}`
  beforeAll(async () => {
    // given mounts, interfaces and rules of another program
    mkdirSync(join(folder, "mount"))
    await run("mount", ["-t", "tmpfs", "none", join(folder, "mount")])
    await run("ip", ["netns", "add", other])
    await run("ip", ["link", "add", other.slice(0, 15), "type", "bridge"])
    await run("iptables", ["-t", "nat", "-N", "KUBERNOT"])
    await run("iptables", ["-t", "nat", "-A", "POSTROUTING", "-s", "198.51.100.0/24", "-j", "KUBERNOT"])
    somebody = spawn("sleep", ["3600"])
  })
  afterAll(async () => {
    somebody.kill()
    await run("umount", [join(folder, "mount")])
    await run("ip", ["netns", "del", other])
    await run("ip", ["link", "del", other.slice(0, 15)])
    await run("iptables", ["-t", "nat", "-D", "POSTROUTING", "-s", "198.51.100.0/24", "-j", "KUBERNOT"])
    await run("iptables", ["-t", "nat", "-X", "KUBERNOT"])
    rmSync(folder, { recursive: true, force: true })
  })

  test("leaves the machine as it was before the server started, and keeps the data", async () => {
    const before = await machine()
    // A run of this test that failed has left some.
    const earlierLogs = logsOfPods()
    const dataDir = mkdtempSync(join(tmpdir(), "k3ts-killall-"))
    try {
      // given pods with volumes, a host port and a Service, with the kubelet's files where drivers look for them
      const root = join(folder, "kubelet")
      mkdirSync(join(root, "plugins/csi.example.com"), { recursive: true })
      await using cluster = await startCluster({ dataDir, flags: ["--kubelet-arg", `root-dir=${root}`] })
      await cluster.create(Service, {
        metadata: { name: "web", namespace: "default" },
        spec: { type: "NodePort", selector: { app: "web" }, ports: [{ port: 80 }] },
      })
      await Promise.all([
        cluster.runPod(
          "killall-web",
          { containers: [{ name: "c", image: WEB, ports: [{ containerPort: 80, hostPort: 31_998 }] }] },
          { labels: { app: "web" } },
        ),
        cluster.runPod("killall-volumes", {
          volumes: [
            { name: "m", emptyDir: { medium: "Memory" } },
            { name: "h", hostPath: { path: folder } },
          ],
          containers: [
            {
              name: "c",
              image: BUSYBOX,
              command: stay(),
              volumeMounts: [
                { name: "m", mountPath: "/m" },
                { name: "h", mountPath: "/h" },
              ],
              resources: { limits: { memory: "32Mi" } },
            },
          ],
        }),
        // this pod has a sandbox but never a container
        cluster.createPod("killall-waiting", { containers: [{ name: "c", image: "nosuch.invalid/image:1" }] }),
        cluster.pod("killall-waiting", ({ status }) => status.podIP !== undefined),
      ])
      await cluster.create(NetworkPolicy, {
        metadata: { name: "deny-all", namespace: "default" },
        spec: { podSelector: {}, policyTypes: ["Ingress", "Egress"] },
      })
      await cluster.runPod("killall-isolated", { containers: [{ name: "c", image: BUSYBOX, command: stay() }] })
      expect((await machine())["tables"]).toContain("table inet k3ts-network-policy")
      expect((await machine())["tables"]).toContain("table bridge k3ts-sources")
      const ofPods = (await run("ip", ["-o", "link", "show", "master", "cni0"])).out
        .split("\n")
        .flatMap((line) => /: (veth\w+)/.exec(line)?.[1] ?? [])
      expect(ofPods.length).toBeGreaterThanOrEqual(2)
      expect(readdirSync(join(root, "pods")).length).toBeGreaterThanOrEqual(3)
      // when killall runs while the server runs
      const killed = await run(EXECUTABLE, ["killall", "--data-dir", dataDir])
      expect(killed).toMatchObject({ code: 0, err: "" })
      expect(cluster.server.alive).toBe(false)
      // then nothing of k3ts is left, and nothing of other programs is missing
      expect(await machine()).toEqual(before)
      expect(ofPods.filter((name) => existsSync(`/sys/class/net/${name}`))).toEqual([])
      expect(somebody.exitCode).toBeNull()
      expect(existsSync(join(dataDir, "server"))).toBe(true)
      // and a second run changes nothing
      expect(await run(EXECUTABLE, ["killall", "--data-dir", dataDir])).toMatchObject({ code: 0, err: "" })
      expect(await machine()).toEqual(before)
      // when k3ts is uninstalled, then the data and the logs are gone too
      const logs = () => logsOfPods().filter((name) => !earlierLogs.includes(name))
      expect(logs().length).toBeGreaterThanOrEqual(2)
      expect(await run(EXECUTABLE, uninstallArgs(dataDir))).toMatchObject({ code: 0, err: "" })
      expect(logs()).toEqual([])
      expect(existsSync(dataDir)).toBe(false)
      // and of the kubelet's folder only what others have made stays
      expect([readdirSync(root), readdirSync(join(root, "plugins"))]).toEqual([["plugins"], ["csi.example.com"]])
      const links = existsSync("/var/log/containers") ? readdirSync("/var/log/containers") : []
      expect(links.filter((name) => name.startsWith("killall-"))).toEqual([])
    } finally {
      rmSync(dataDir, { recursive: true, force: true })
    }
  }, 60_000)
})
