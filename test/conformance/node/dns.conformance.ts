/** Names in the cluster. After test/e2e/network/dns.go. */
import { expect } from "bun:test"
import { stay } from "../../harness/cluster.ts"
import { join } from "node:path"
import { until, type PodInput, type TestNamespace } from "./namespace.ts"
import { program, programVolumes } from "./programs/programs.ts"
import { describeStandIns } from "./stand-in.ts"

const DIG = `${process.execPath} ${join(import.meta.dirname, "programs/dig.ts")}`
const QUERIER = "querier"

/** Starts a pod that can send DNS requests. */
const runQuerier = (ns: TestNamespace, pod: PodInput = {}, name = QUERIER) =>
  ns.runPod(name, {
    ...pod,
    volumes: programVolumes,
    containers: [{ ...program("dig.ts"), command: stay() }],
  })

/** Returns the answers of the name server over UDP and TCP, as soon as it answers. */
async function answersOf(ns: TestNamespace, name: string, type = "A"): Promise<readonly unknown[]> {
  const [udp, tcp] = await Promise.all(
    ["udp", "tcp"].map((transport) =>
      until(
        `${name} ${type} over ${transport}`,
        () => ns.exec(QUERIER, `${DIG} ${name} ${type} ${transport}`),
        ({ out, code }) => code === 0 && out !== "",
      ),
    ),
  )
  const lines = (out: string) => out.trim().split("\n").toSorted()
  expect(lines(tcp!.out)).toEqual(lines(udp!.out))
  return lines(udp!.out).map((line) => JSON.parse(line) as unknown)
}
/** Returns the addresses that the resolver of the system finds. */
const lookedUp = async (ns: TestNamespace, name: string) =>
  (await ns.sh(QUERIER, `${DIG} hosts ${name}`)).trim().split("\n")

const selector = { "dns-test": "true" }
const ports = [{ name: "http", port: 80, protocol: "TCP" }]
const createServices = async (ns: TestNamespace) => {
  await ns.create("services", "dns-test-service", { spec: { clusterIP: "None", selector, ports } })
  const service = await ns.create("services", "test-service-2", { spec: { selector, ports } })
  const pod = await runQuerier(ns, { metadata: { labels: selector } })
  return { address: service.spec.clusterIP!, podIp: pod.status["podIP"] as string }
}

describeStandIns(
  "DNS",
  (standIn) => {
    standIn("DNS should provide DNS for the cluster", async (ns) => {
      await runQuerier(ns)
      const { clusterIP } = (await ns.cluster.get("/api/v1/namespaces/default/services/kubernetes")).spec
      expect(await answersOf(ns, "kubernetes.default.svc.cluster.local")).toEqual([clusterIP])
    })

    standIn("DNS should provide /etc/hosts entries for the cluster", async (ns) => {
      const pod = await runQuerier(ns, { hostname: "dns-querier-1", subdomain: "dns-test-service" })
      for (const name of [`dns-querier-1.dns-test-service.${ns.name}.svc.cluster.local`, "dns-querier-1"])
        expect(await lookedUp(ns, name)).toEqual([pod.status["podIP"] as string])
    })

    standIn("DNS should provide DNS for services", async (ns) => {
      const { address, podIp } = await createServices(ns)
      const zone = `${ns.name}.svc.cluster.local`
      expect(await answersOf(ns, `dns-test-service.${zone}`)).toEqual([podIp])
      expect(await answersOf(ns, `_http._tcp.dns-test-service.${zone}`, "SRV")).toMatchObject([{ port: 80 }])
      expect(await answersOf(ns, `_http._tcp.test-service-2.${zone}`, "SRV")).toMatchObject([
        { port: 80, target: `test-service-2.${zone}` },
      ])
      const reverse = `${address.split(".").toReversed().join(".")}.in-addr.arpa.`
      expect(await answersOf(ns, reverse, "PTR")).toEqual([`test-service-2.${zone}`])
    })

    standIn("DNS should resolve DNS of partial qualified names for services", async (ns) => {
      const { address, podIp } = await createServices(ns)
      for (const name of ["dns-test-service", `dns-test-service.${ns.name}`, `dns-test-service.${ns.name}.svc`])
        expect(await answersOf(ns, name)).toEqual([podIp])
      for (const service of ["dns-test-service", "test-service-2"])
        expect(await answersOf(ns, `_http._tcp.${service}.${ns.name}.svc`, "SRV")).toMatchObject([{ port: 80 }])
      const reverse = `${address.split(".").toReversed().join(".")}.in-addr.arpa.`
      expect(await answersOf(ns, reverse, "PTR")).toEqual([`test-service-2.${ns.name}.svc.cluster.local`])
    })

    /** Creates a headless Service, and a pod of it with a hostname. */
    const withName = async (ns: TestNamespace) => {
      await ns.create("services", "dns-test-service-2", { spec: { clusterIP: "None", selector, ports } })
      const named = { hostname: "dns-querier-2", subdomain: "dns-test-service-2" }
      const pod = await runQuerier(ns, { metadata: { labels: selector }, ...named })
      return pod.status["podIP"] as string
    }
    const subdomain = (ns: TestNamespace) => `dns-test-service-2.${ns.name}.svc.cluster.local`

    standIn("DNS should provide DNS for pods for Hostname", async (ns) => {
      const podIp = await withName(ns)
      for (const name of [`dns-querier-2.${subdomain(ns)}`, "dns-querier-2"])
        expect(await lookedUp(ns, name)).toEqual([podIp])
    })

    standIn("DNS should provide DNS for pods for Subdomain", async (ns) => {
      const podIp = await withName(ns)
      for (const name of [`dns-querier-2.${subdomain(ns)}`, subdomain(ns)])
        expect(await answersOf(ns, name)).toEqual([podIp])
    })

    standIn("DNS should provide DNS for ExternalName services", async (ns) => {
      const name = `dns-test-service-3.${ns.name}.svc.cluster.local`
      const service = `${ns.path}/services/dns-test-service-3`
      await ns.create("services", "dns-test-service-3", {
        spec: { type: "ExternalName", externalName: "foo.example.com" },
      })
      await runQuerier(ns)
      const untilAnswer = (type: string, wanted: string) =>
        until(
          `${wanted} as ${type} of ${name}`,
          async () => (await answersOf(ns, name, type)).join(),
          (found) => found === wanted,
        )
      await untilAnswer("CNAME", "foo.example.com")
      await ns.cluster.patch(service, "merge", { spec: { externalName: "bar.example.com" } })
      await untilAnswer("CNAME", "bar.example.com")
      const changed = await ns.cluster.patch(service, "merge", { spec: { type: "ClusterIP", ports } })
      await untilAnswer("A", changed.spec.clusterIP!)
    })

    standIn("DNS should support configurable pod DNS nameservers", async (ns) => {
      await ns.runPod("pod", {
        dnsPolicy: "None",
        dnsConfig: { nameservers: ["1.1.1.1"], searches: ["resolv.conf.local"] },
      })
      expect(await ns.sh("pod", "cat /etc/resolv.conf")).toBe("search resolv.conf.local\nnameserver 1.1.1.1\n")
    })
  },
  { width: 4 },
)
