/** NetworkPolicies between real pods: from their first packet, and across a restart of k3ts. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { NetworkPolicy } from "../../../pkg/api/networking/v1/networkpolicy.ts"
import type { InputOfResource } from "../../../pkg/apimachinery/resource.ts"
import { isPodReady } from "../../../pkg/pods/pod-state.ts"
import { BUSYBOX, describeOnNode, startCluster, stay, WEB, type Cluster } from "../../harness/cluster.ts"
import { run } from "../../harness/kubectl.ts"
import { startServer, uninstallArgs, type TestServer, EXECUTABLE } from "../../harness/server.ts"

type PolicySpec = NonNullable<InputOfResource<typeof NetworkPolicy>["spec"]>

describeOnNode("NetworkPolicies", () => {
  const dataDir = mkdtempSync(join(tmpdir(), "k3ts-policies-"))
  let cluster: Cluster
  let server: TestServer
  let web: string
  let open: string
  let service: string
  const wget = async (pod: string, address: string) =>
    (await cluster.kubectl.sh(pod, `timeout 2 wget -q -O - http://${address}/ || echo nothing`)).trim()
  const policy = (name: string, spec: PolicySpec) =>
    cluster.create(NetworkPolicy, { metadata: { name, namespace: "default" }, spec })
  const remove = (name: string) => cluster.client.delete(NetworkPolicy, { name, namespace: "default" })
  const table = async () => (await run("nft", ["list", "table", "inet", "k3ts-network-policy"])).code === 0
  /**
   * A script that requests the address again and again from the start of the pod, and prints `through` for each answer.
   */
  const hammer = (address: string) =>
    `while :; do (timeout 1 wget -q -O - http://${address}/ >/dev/null 2>&1 && echo through >> /tmp/log) & usleep 5000; done`
  const through = async (pod: string) => Number(await cluster.kubectl.sh(pod, "touch /tmp/log; wc -l < /tmp/log"))

  beforeAll(async () => {
    cluster = await startCluster({ dataDir })
    server = cluster.server
    const serving = (app: string) =>
      cluster.runPod(
        app,
        {
          containers: [
            {
              name: "c",
              image: WEB,
              command: stay(`echo ${app} > /www/index.html; httpd -p 80 -h /www`),
              ports: [{ name: "http", containerPort: 80 }],
              readinessProbe: { httpGet: { port: "http" }, periodSeconds: 1, failureThreshold: 1 },
            },
          ],
        },
        { labels: { app } },
      )
    const asking = (role: string) =>
      cluster.runPod(role, { containers: [{ name: "c", image: BUSYBOX, command: stay() }] }, { labels: { role } })
    const [first, second] = await Promise.all([serving("web"), serving("open"), asking("friend"), asking("stranger")])
    web = first.status.podIP!
    open = second.status.podIP!
    service = (
      await cluster.create(Service, {
        metadata: { name: "web", namespace: "default" },
        spec: { selector: { app: "web" }, ports: [{ port: 80 }] },
      })
    ).spec.clusterIP!
    for (const address of [web, service]) {
      expect(await wget("friend", address)).toBe("web")
      expect(await wget("stranger", address)).toBe("web")
    }
  }, 60_000)
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
    await cluster[Symbol.asyncDispose]()
    await run(EXECUTABLE, uninstallArgs(dataDir))
    rmSync(dataDir, { recursive: true, force: true })
  }, 30_000)

  test("let the selected pods through, at the pod's address and at its Service, and the node's probes", async () => {
    // when
    await policy("web", {
      podSelector: { matchLabels: { app: "web" } },
      ingress: [{ from: [{ podSelector: { matchLabels: { role: "friend" } } }], ports: [{ port: "http" }] }],
    })
    // then
    for (const address of [web, service]) {
      expect(await wget("stranger", address)).toBe("nothing")
      expect(await wget("friend", address)).toBe("web")
    }
    expect((await run("curl", ["-s", "-m", "3", `http://${web}/`])).out.trim()).toBe("web")
    expect(isPodReady(await cluster.client.get(Pod, { namespace: "default", name: "web" }))).toBe(true)
  }, 60_000)

  test("hold from the first packet of a pod", async () => {
    // given a policy that selects no pod yet, and then pods that connect from their start on
    await policy("caged", { podSelector: { matchLabels: { role: "caged" } }, policyTypes: ["Egress"] })
    const start = (role: string) =>
      cluster.runPod(
        `${role}-from-start`,
        { containers: [{ name: "c", image: BUSYBOX, command: ["sh", "-c", hammer(open)] }] },
        { labels: { role } },
      )
    // when
    await Promise.all([start("caged"), start("free")])
    while ((await through("free-from-start")) === 0) await Bun.sleep(50)
    // then the permitted pod gets through from the beginning, and the other one never
    expect(await through("caged-from-start")).toBe(0)
    await remove("caged")
    // They would take half a processor until the end.
    await cluster.kubectl.ok("delete pod caged-from-start free-from-start --grace-period=0 --force")
  }, 60_000)

  test("let a pod use DNS and nothing else", async () => {
    await policy("names-only", {
      podSelector: { matchLabels: { role: "stranger" } },
      policyTypes: ["Egress"],
      egress: [
        {
          to: [
            {
              namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "kube-system" } },
              podSelector: { matchLabels: { "k8s-app": "kube-dns" } },
            },
          ],
          ports: [{ protocol: "UDP", port: 53 }],
        },
      ],
    })
    expect(await cluster.kubectl.sh("stranger", "nslookup web.default.svc.cluster.local")).toContain(service)
    expect(await wget("stranger", `${service}`)).toBe("nothing")
    await remove("names-only")
  }, 60_000)

  test("hold while k3ts is down, and while it starts", async () => {
    // given a forbidden pod that sends requests all the time
    await cluster.kubectl.sh("stranger", `rm -f /tmp/log; (${hammer(web)}) >/dev/null 2>&1 & echo $! > /tmp/hammer`)
    // when
    await server.kill("SIGTERM")
    expect(await table()).toBe(true)
    server = await startServer({ agent: true, dataDir, port: server.port })
    await cluster.runPod("later", { containers: [{ name: "c", image: BUSYBOX, command: stay() }] })
    // then
    expect(await through("stranger")).toBe(0)
    expect(await wget("friend", web)).toBe("web")
    await cluster.kubectl.sh("stranger", "kill $(cat /tmp/hammer)")
  }, 60_000)

  test("apply to addresses, which no pod can take from another", async () => {
    // given a pod with all rights over its own network, which takes the address of another pod
    const taking = `ip address add ${web}/32 dev eth0`
    const securityContext = { capabilities: { add: ["NET_ADMIN"] } }
    await cluster.runPod("taker", {
      containers: [{ name: "c", image: BUSYBOX, command: stay(taking), securityContext }],
    })
    const ping = (source: string) =>
      cluster.kubectl.sh("taker", `ping -c 1 -W 1 -I ${source} ${open} >/dev/null && echo answered || echo nothing`)
    // then it gets answers at its own address only
    expect((await ping("eth0")).trim()).toBe("answered")
    expect((await ping(web)).trim()).toBe("nothing")
    expect(await wget("friend", web)).toBe("web")
  }, 60_000)

  test("allow everything once the last policy is deleted, and leave no table", async () => {
    await remove("web")
    expect(await wget("stranger", web)).toBe("web")
    expect(await table()).toBe(false)
  }, 60_000)
})
