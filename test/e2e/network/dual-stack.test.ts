/**
 * Clusters with both IP families and with IPv6 alone: pods, Services, Ingresses and NetworkPolicies on the real node.
 * Source of the idea: kubernetes test/e2e/network/dual_stack.go.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { Ingress } from "../../../pkg/api/networking/v1/ingress.ts"
import { NetworkPolicy } from "../../../pkg/api/networking/v1/networkpolicy.ts"
import { familyOf, joinHostPort, type Family } from "../../../pkg/apimachinery/addresses/cidr.ts"
import { BUSYBOX, describeOnNode, hasIPv6, startCluster, stay, WEB, type Cluster } from "../../harness/cluster.ts"
import { run } from "../../harness/kubectl.ts"

const CLUSTERS: readonly { readonly families: readonly Family[]; readonly flags: readonly string[] }[] = [
  {
    families: ["IPv4", "IPv6"],
    flags: ["--cluster-cidr=10.42.0.0/16,fd42::/56", "--service-cidr=10.43.0.0/16,fd43::/112"],
  },
  { families: ["IPv6"], flags: ["--cluster-cidr=fd42::/56", "--service-cidr=fd43::/112", "--proxy-mode=iptables"] },
]

if (!hasIPv6) console.warn("!!! SKIPPED: clusters with IPv6 need an address of IPv6 that is not of a link")

describe.skipIf(!hasIPv6).each(CLUSTERS.map((each) => ({ ...each, of: each.families.join(" and ") })))(
  "on a node",
  ({ families, flags, of }) => {
    describeOnNode(`a cluster of ${of}`, () => {
      let cluster: Cluster
      let service: Service
      let podIps: readonly string[]
      let nodeIps: readonly string[]
      const curl = async (host: string, port: number, ...more: readonly string[]) =>
        (await run("curl", ["-s", "-m", "3", ...more, `http://${joinHostPort(host, port)}/`])).out.trim()
      const wget = async (host: string) =>
        (
          await cluster.kubectl.sh("client", `timeout 2 wget -q -O - http://${joinHostPort(host, 80)}/ || echo nothing`)
        ).trim()

      beforeAll(async () => {
        cluster = await startCluster({ flags })
        const [web] = await Promise.all([
          cluster.runPod(
            "web",
            {
              containers: [
                {
                  name: "c",
                  image: WEB,
                  command: stay("echo web > /www/index.html; httpd -p 80 -h /www"),
                  ports: [{ containerPort: 80 }],
                  readinessProbe: { httpGet: { port: 80 }, periodSeconds: 1, failureThreshold: 1 },
                },
              ],
            },
            { labels: { app: "web" } },
          ),
          cluster.runPod("client", { containers: [{ name: "c", image: BUSYBOX, command: stay() }] }),
        ])
        podIps = (web.status.podIPs ?? []).map(({ ip }) => ip)
        nodeIps = (web.status.hostIPs ?? []).map(({ ip }) => ip)
        service = await cluster.create(Service, {
          metadata: { name: "web", namespace: "default" },
          spec: {
            type: "NodePort",
            ipFamilyPolicy: "PreferDualStack",
            selector: { app: "web" },
            ports: [{ port: 80 }],
          },
        })
      }, 60_000)
      afterAll(() => cluster?.[Symbol.asyncDispose]())

      test("gives pods, Services and the node an address of each family, in the cluster's order", () => {
        for (const addresses of [podIps, nodeIps, service.spec.clusterIPs!])
          expect(addresses.map(familyOf)).toEqual([...families])
      })

      test("reaches a pod at every address, from a pod and from the node", async () => {
        for (const address of [...podIps, ...service.spec.clusterIPs!]) {
          expect([address, await untilSaid(() => wget(address), "web")]).toEqual([address, "web"])
          expect([address, await untilSaid(() => curl(address, 80), "web")]).toEqual([address, "web"])
        }
        for (const address of nodeIps)
          expect([address, await untilSaid(() => curl(address, service.spec.ports![0]!.nodePort!), "web")]).toEqual([
            address,
            "web",
          ])
      }, 30_000)

      test("serves pods and Services through the API server's proxies", async () => {
        for (const path of ["pods/web", "services/web", "services/http:web:80"]) {
          const url = `/api/v1/namespaces/default/${path}/proxy/`
          expect([path, (await cluster.kubectl.ok(["get", "--raw", url])).trim()]).toEqual([path, "web"])
        }
      })

      test("serves Ingresses at the node's addresses of each family", async () => {
        const backend = { service: { name: "web", port: { number: 80 } } }
        await cluster.create(Ingress, {
          metadata: { name: "web", namespace: "default" },
          spec: { rules: [{ host: "web.example", http: { paths: [{ path: "/", pathType: "Prefix", backend }] } }] },
        })
        const { status } = await cluster.until(
          Ingress,
          "web",
          (one) => (one.status.loadBalancer.ingress ?? []).length > 0,
        )
        expect(status.loadBalancer.ingress!.map(({ ip }) => ip)).toEqual([...nodeIps])
        for (const address of nodeIps) {
          const asked = () => curl(address, 80, "-H", "Host: web.example")
          expect([address, await untilSaid(asked, "web")]).toEqual([address, "web"])
        }
      }, 30_000)

      test("blocks what a policy forbids at each address of a pod, and lets probes through", async () => {
        await cluster.create(NetworkPolicy, {
          metadata: { name: "deny", namespace: "default" },
          spec: { podSelector: { matchLabels: { app: "web" } }, policyTypes: ["Ingress"] },
        })
        for (const address of [...podIps, ...service.spec.clusterIPs!])
          expect([address, await untilSaid(() => wget(address), "nothing")]).toEqual([address, "nothing"])
        expect((await cluster.pod("web")).status.conditions!.find(({ type }) => type === "Ready")!.status).toBe("True")
        await cluster.client.delete(NetworkPolicy, { name: "deny", namespace: "default" })
        for (const address of podIps)
          expect([address, await untilSaid(() => wget(address), "web")]).toEqual([address, "web"])
      }, 60_000)
    })
  },
)

/**
 * Repeats a request until the answer is the wanted one, since rules follow the API with a delay. Returns the last
 * answer.
 */
async function untilSaid(ask: () => Promise<string>, wanted: string): Promise<string> {
  let said = ""
  for (let i = 0; i < 20 && said !== wanted; i++) said = await ask()
  return said
}
