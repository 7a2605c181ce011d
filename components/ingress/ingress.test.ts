import { describe, expect, test } from "bun:test"
import { createServer as createNetServer, type AddressInfo } from "node:net"
import { Namespace } from "../../pkg/api/core/v1/namespace.ts"
import { Service } from "../../pkg/api/core/v1/service/service.ts"
import { EndpointSlice } from "../../pkg/api/discovery/v1/endpointslice.ts"
import { Ingress } from "../../pkg/api/networking/v1/ingress.ts"
import { IngressClass } from "../../pkg/api/networking/v1/ingressclass.ts"
import { get, ingressOf, OWN_ADDRESS, rule, serving, serviceOf } from "./ingress.fixtures.ts"

describe("Ingresses", () => {
  test("of this class open the ports and get the node's addresses, and the ports are closed after the last one", async () => {
    await using given = await serving()
    // given none of our class
    await given.client.create(
      Ingress,
      ingressOf("other", { ingressClassName: "nginx", rules: [rule("a.example", "web")] }),
    )
    expect(given.ingress.ports).toEqual([])

    // when one appears
    await given.client.create(Ingress, ingressOf("web", { rules: [rule("a.example", "web")] }))
    await given.served("web")

    // then
    expect(await given.addressOf("web")).toEqual([{ ip: "192.0.2.1" }])
    expect(await given.addressOf("other")).toEqual([])
    expect(await given.get("a.example")).toMatchObject({ status: 503 })
    expect(await given.get("b.example")).toMatchObject({ status: 404 })
    const [port] = given.ingress.ports
    // and pods cannot have these ports
    expect(given.ownPorts.all.map((each) => each.port)).toEqual(given.ingress.ports.map(Number).sort((a, b) => a - b))

    // when it goes
    await given.client.delete(Ingress, { namespace: "default", name: "web" })
    await given.cluster.eventually(() => given.ingress.ports.length === 0)
    await given.cluster.eventually(() => given.ownPorts.all.length === 0)
    expect(await get(port!, "a.example", "/").catch(({ code }: { code: string }) => code)).toBe("ECONNREFUSED")
  })

  test("are served while their class names this controller, and lose their addresses when it does not", async () => {
    await using given = await serving()
    await given.client.create(IngressClass, { metadata: { name: "mine" }, spec: { controller: "k3ts.dev/ingress" } })
    await given.client.create(
      Ingress,
      ingressOf("web", { ingressClassName: "mine", rules: [rule("a.example", "web")] }),
    )
    await given.client.create(Ingress, ingressOf("stays", { rules: [rule("b.example", "web")] }))
    await given.served("web")
    await given.client.delete(IngressClass, { name: "mine" })
    await given.cluster.eventually(async () => (await given.addressOf("web")).length === 0)
    expect(await given.get("a.example")).toMatchObject({ status: 404 })
  })

  test.skipIf(OWN_ADDRESS === undefined)("reach all ready endpoints of a Service in turn", async () => {
    await using given = await serving()
    const pods = ["a", "b", "c", "d"]
    using _web = await serviceOf(given.client, "web", pods)
    await given.client.create(
      Ingress,
      ingressOf("web", { defaultBackend: { service: { name: "web", port: { name: "http" } } } }),
    )
    await given.served("web")

    // when asked 40 times
    const bodies: string[] = []
    for (let i = 0; i < 40; i++) bodies.push((await given.get("any", "/x")).body)
    // then each has answered the same number of times
    expect(pods.map((pod) => bodies.filter((body) => body === pod).length)).toEqual([10, 10, 10, 10])

    // when one is not ready any more
    const slice = await given.client.get(EndpointSlice, { namespace: "default", name: "web-0" })
    const endpoints = slice.endpoints!.map((endpoint) => ({ ...endpoint, conditions: { ready: false } }))
    await given.client.update(EndpointSlice, { ...slice, endpoints })
    await given.cluster.eventually(async () => {
      const answers = await Promise.all(pods.map(() => given.get("any")))
      return answers.every(({ body }) => body !== "a")
    })
    expect(given.figures()).toMatch(
      /k3ts_ingress_requests_total\{namespace="default",ingress="web",service="web",code="200"\} [4-9]\d/,
    )
  })

  for (const appProtocol of ["https", "HTTPS", "kubernetes.io/wss"])
    test.skipIf(OWN_ADDRESS === undefined)(`speak TLS to a Service port with appProtocol ${appProtocol}`, async () => {
      await using given = await serving()
      using _web = await serviceOf(given.client, "web", ["secure"], { clusterIP: "None", appProtocol })
      await given.client.create(Ingress, ingressOf("web", { rules: [rule("a.example", "web")] }))
      await given.served("web")
      expect(await given.get("a.example")).toEqual({ status: 200, body: "secure" })
    })

  test.skipIf(OWN_ADDRESS === undefined)(
    "send a client to the same endpoint if the Service has sessionAffinity ClientIP",
    async () => {
      await using given = await serving()
      const pods = ["a", "b", "c", "d"]
      using _web = await serviceOf(given.client, "web", pods, { sessionAffinity: "ClientIP" })
      await given.client.create(Ingress, ingressOf("web", { rules: [rule("a.example", "web")] }))
      await given.served("web")
      const bodies = async () => {
        const answers = await Promise.all(pods.map(() => given.get("a.example")))
        return new Set(answers.map(({ body }) => body))
      }
      const [first] = await bodies()
      expect(await bodies()).toEqual(new Set([first!]))

      // when the Service does not ask any more
      const service = await given.client.get(Service, { namespace: "default", name: "web" })
      const { sessionAffinityConfig: _, ...spec } = service.spec
      await given.client.update(Service, { ...service, spec: { ...spec, sessionAffinity: "None" } })
      await given.cluster.eventually(async () => (await bodies()).size === 4)
    },
  )

  test.skipIf(OWN_ADDRESS === undefined)(
    "reach the endpoints of a headless Service in turn, whatever its sessionAffinity",
    async () => {
      await using given = await serving()
      const pods = ["a", "b", "c", "d"]
      using _web = await serviceOf(given.client, "web", pods, { clusterIP: "None", sessionAffinity: "ClientIP" })
      await given.client.create(Ingress, ingressOf("web", { rules: [rule("a.example", "web")] }))
      await given.served("web")
      const answers = await Promise.all(pods.map(() => given.get("a.example")))
      expect(answers.map(({ body }) => body).sort()).toEqual(pods)
    },
  )

  test.each([
    { title: "loopback", address: "127.0.0.1" },
    { title: "link-local", address: "169.254.169.254" },
    { title: "the node's API server", address: "192.0.2.1", port: 6443 },
    { title: "the node's API server at another address of the node", address: OWN_ADDRESS ?? "192.0.2.1", port: 6443 },
  ])("never reach an endpoint that is $title", async ({ address, port = 8080 }) => {
    await using given = await serving()
    const ports = [{ port: 80 }]
    await given.client.create(Service, {
      metadata: { name: "web", namespace: "default" },
      spec: { clusterIP: "None", ports },
    })
    // The API refuses to store such an address, but another version may have stored one.
    await given.client
      .create(EndpointSlice, {
        metadata: { name: "web-1", namespace: "default", labels: { "kubernetes.io/service-name": "web" } },
        addressType: "IPv4",
        endpoints: [{ addresses: [address] }],
        ports: [{ port }],
      })
      .catch(() => undefined)
    await given.client.create(Ingress, ingressOf("web", { rules: [rule("a.example", "web")] }))
    await given.served("web")
    expect(await given.get("a.example")).toMatchObject({ status: 503 })
  })

  test("of another namespace cannot take a host, and get an Event that says so", async () => {
    await using given = await serving()
    await given.client.create(Namespace, { metadata: { name: "thief" } })
    await given.client.create(Ingress, ingressOf("web", { rules: [rule("a.example", "web")] }))
    await given.served("web")
    await given.client.create(Ingress, ingressOf("web", { rules: [rule("a.example", "web", "/admin")] }, "thief"))
    await given.cluster.eventually(async () => (await given.told()).length > 0)
    expect(await given.told()).toEqual([
      'HostConflict: host "a.example" belongs to an older Ingress in namespace default: rule 0 is left out',
    ])
  })

  test("report each of their faults once, in Events", async () => {
    await using given = await serving()
    const tls = [{ hosts: ["a.example"], secretName: "nowhere" }]
    const paths = [{ path: "/", pathType: "Prefix" as const, backend: { resource: { kind: "Bucket", name: "b" } } }]
    await given.client.create(
      Ingress,
      ingressOf("web", { tls, rules: [{ host: "a.example", http: { paths } }] }, "default", {
        "ingress.k3ts.dev/retries": "many",
      }),
    )
    await given.cluster.eventually(async () => (await given.told()).length >= 3)
    await given.client.create(Ingress, ingressOf("more", { rules: [rule("b.example", "web")] }))
    await given.served("more")
    expect((await given.told()).sort()).toEqual([
      'InvalidAnnotation: annotation ingress.k3ts.dev/retries has the value "many": it must be a number from 0 to 10',
      'InvalidTLS: Secret "nowhere" does not exist, or is not of type kubernetes.io/tls: its hosts get the default certificate',
      'ResourceBackend: path 0 of rule 0 names Bucket "b", but only Services can be backends here',
    ])
    expect(await given.get("a.example")).toMatchObject({ status: 503 })
  })

  test("report a Service that takes a port, since kube-proxy's rules apply before the listener", async () => {
    await using given = await serving()
    await given.client.create(Ingress, ingressOf("web", { rules: [rule("a.example", "web")] }))
    await given.served("web")
    const [port] = given.ingress.ports
    await given.client.create(Service, {
      metadata: { name: "thief", namespace: "default" },
      spec: { externalIPs: ["192.0.2.1"], ports: [{ port: port! }] },
    })
    await given.cluster.eventually(async () => (await given.told()).length > 0)
    expect(await given.told()).toEqual([
      `PortConflict: spec.externalIPs of Service default/thief has the node's address 192.0.2.1, with port ${port}: ` +
        "requests to it go to that Service and not to this proxy; take the address or the port out of the Service, or " +
        "set --ingress-http-port",
    ])
  })

  test("report a port that is in use, and are served on the other port", async () => {
    const other = createNetServer()
    await new Promise<void>((resolve) => other.listen(0, "0.0.0.0", resolve))
    const { port } = other.address() as AddressInfo
    await using given = await serving({ httpPort: port })
    await given.client.create(Ingress, ingressOf("web", { rules: [rule("a.example", "web")] }))
    await given.served("web")
    await given.cluster.eventually(async () => (await given.told()).length > 0)
    expect(await given.told()).toEqual([
      `PortUnavailable: Cannot listen on port ${port}: another program uses it; the port will be tried again`,
    ])
    expect(given.ingress.ports[0]).toBeUndefined()
    expect(given.ingress.ports[1]).toBeNumber()
    expect(given.ingress.problem?.()).toBeUndefined()

    // and once the port is free, the next change opens it
    other.close()
    await given.client.create(Ingress, ingressOf("more", { rules: [rule("b.example", "web")] }))
    await given.cluster.eventually(() => given.ingress.ports[0] === port)
  })
})
