/** Objects that end the process of a node are set aside, and everything else is served. */
import { freePort } from "../../../pkg/runtime/free-port.fixtures.ts"
import { afterAll, expect, test } from "bun:test"
import { createSocket } from "node:dgram"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { decode, encode } from "dns-packet"
import { quarantineFolder, writeRecord } from "../../../pkg/quarantine/quarantine-files.ts"
import { NOTHING_RECORDED } from "../../../pkg/quarantine/record.ts"
import { buildPoisoned } from "../../bad-days/poisoned-server.fixtures.ts"
import { describeOnNode, serviceRules } from "../../harness/cluster.ts"
import { run } from "../../harness/kubectl.ts"
import { startServer, uninstallArgs, EXECUTABLE, type TestServer } from "../../harness/server.ts"

const IN_DEFAULT = (group: string, plural: string) => `/${group}/namespaces/default/${plural}`
const SERVICES = IN_DEFAULT("api/v1", "services")
const INGRESSES = IN_DEFAULT("apis/networking.k8s.io/v1", "ingresses")
const POLICIES = IN_DEFAULT("apis/networking.k8s.io/v1", "networkpolicies")
const NAMES = ["sound", "poison"]
/** The parts that one object each ends, and that object. */
const POISON = [
  { place: "kube-proxy", key: "default/poison" },
  { place: "network-policy", key: "default/poison" },
  { place: "ingress", key: "Ingress/default/poison" },
  { place: "dns", key: "default/poison" },
]

/** Returns the response code of a name at the cluster's DNS, or undefined if none comes soon. */
const resolve = (name: string): Promise<string | undefined> =>
  new Promise((done) => {
    const socket = createSocket("udp4")
    const end = (rcode?: string) => {
      clearTimeout(timer)
      socket.close()
      done(rcode)
    }
    const timer = setTimeout(end, 500)
    socket.on("error", () => end())
    socket.on("message", (bytes) => end((decode(bytes) as unknown as { readonly rcode: string }).rcode))
    socket.send(encode({ type: "query", id: 1, questions: [{ name, type: "A" }] }), 53, "10.43.0.10")
  })

describeOnNode("a node that objects end", () => {
  const dataDir = mkdtempSync(join(tmpdir(), "k3ts-poisoned-node-"))
  const program = join(dataDir, "poisoned-k3ts")
  let server: TestServer | undefined
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]()
    await run(EXECUTABLE, uninstallArgs(dataDir))
    rmSync(dataDir, { recursive: true, force: true })
  })

  test("comes up without a Service, a network policy and an Ingress that have ended it twice, and serves all others", async () => {
    // given a node that each of these has ended once
    await buildPoisoned(program)
    const sound = (server = await startServer({ dataDir, flags: ["--disable", "controller-manager"] }))
    const ingressClassName = "own"
    await sound.send("POST", "/apis/networking.k8s.io/v1/ingressclasses", {
      metadata: { name: ingressClassName },
      spec: { controller: "k3ts.dev/ingress" },
    })
    for (const [i, name] of NAMES.entries()) {
      const clusterIP = `10.43.7.${i + 1}`
      await sound.send("POST", SERVICES, { metadata: { name }, spec: { clusterIP, ports: [{ port: 80 }] } })
      await sound.send("POST", POLICIES, {
        metadata: { name },
        spec: { podSelector: { matchLabels: { app: name } }, ingress: [{ ports: [{ port: 80 }] }] },
      })
      const backend = { service: { name, port: { number: 80 } } }
      const paths = [{ path: "/", pathType: "Prefix", backend }]
      await sound.send("POST", INGRESSES, {
        metadata: { name },
        spec: { ingressClassName, rules: [{ host: `${name}.example`, http: { paths } }] },
      })
    }
    await sound.kill("SIGTERM")
    writeRecord(quarantineFolder(dataDir, "server"), { ...NOTHING_RECORDED, suspects: POISON })
    const port = await freePort()
    const flags = ["--ingress-http-port", String(port), "--ingress-https-port", String(await freePort())]
    const rcodes = new Map<string, string | undefined>()
    const isNamed = (health: string) => POISON.every(({ place, key }) => health.includes(`${place} skips ${key}`))
    // when it is started until it runs
    let health = ""
    for (let starts = 0; starts < 6 && !isNamed(health); starts++) {
      server = await startServer({ agent: true, dataDir, program: [program], flags }).catch(() => undefined)
      while (server?.alive === true && !isNamed(health)) {
        for (const name of NAMES) rcodes.set(name, await resolve(`${name}.default.svc.cluster.local`))
        health = (await server.get("/readyz?verbose").catch(() => undefined))?.body.toString() ?? ""
      }
    }
    // then what has ended it is named
    for (const { place, key } of POISON)
      expect(health).toContain(`${place} skips ${key}, because the process ended twice`)
    // and all else is served
    let rules = ""
    while (!rules.includes("10.43.7.1")) rules = await serviceRules()
    expect(rules).not.toContain("10.43.7.2")
    const status = async (host: string) =>
      (
        await run("curl", [
          "-s",
          "-m",
          "5",
          "-o",
          "/dev/null",
          "-w",
          "%{http_code}",
          "-H",
          `Host: ${host}`,
          `http://127.0.0.1:${port}/`,
        ])
      ).out
    expect(await status("sound.example")).toBe("503")
    expect(await status("poison.example")).toBe("404")
    expect(await resolve("sound.default.svc.cluster.local")).toBe("NOERROR")
    expect(await resolve("poison.default.svc.cluster.local")).toBe("SERVFAIL")
  }, 120_000)
})
