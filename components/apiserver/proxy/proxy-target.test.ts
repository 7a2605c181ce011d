import { describe, expect, test } from "bun:test"
import { seededRandom } from "../../../pkg/clock/random.ts"
import { requestInfo } from "../call/request-info.ts"
import type { Resource } from "../../../pkg/apimachinery/resource.ts"
import type { ObjectReader } from "../cacher/objects.ts"
import { nodeTarget, podTarget, serviceTarget, splitProxyName, type ProxyTarget } from "./proxy-target.ts"

const pod = (ip: string) => ({
  spec: { nodeName: "n1", containers: [{ ports: [{ name: "http", containerPort: 8080 }] }] },
  status: { podIP: ip, podIPs: [{ ip }] },
})
const ofPod = (name: string, ip: string, namespace = "default") => ({ ip, targetRef: { kind: "Pod", namespace, name } })
const services = {
  "services/web": {
    metadata: { name: "web" },
    spec: {
      ports: [
        { name: "main", port: 80 },
        { name: "admin", port: 81 },
      ],
    },
  },
  "endpoints/web": {
    subsets: [
      { addresses: [ofPod("five", "10.42.0.5")], ports: [{ name: "main", port: 8080 }] },
      { notReadyAddresses: [ofPod("six", "10.42.0.6")], ports: [{ name: "admin", port: 8081 }] },
    ],
  },
  "services/plain": { metadata: { name: "plain" }, spec: { ports: [{ port: 80 }] } },
  "endpoints/plain": { subsets: [{ addresses: [ofPod("seven", "10.42.0.7")], ports: [{ port: 8080 }] }] },
  "pods/five": pod("10.42.0.5"),
  "pods/seven": pod("10.42.0.7"),
}
type Objects = Readonly<Record<string, object>>
const NAMESPACE = "/api/v1/namespaces/default"
const readerOf = (objects: Objects) =>
  ({
    get: ({ plural }: Resource, { name }: { readonly name?: string }) => objects[`${plural}/${name}`],
  }) as unknown as ObjectReader

const serviceOf = (name: string, objects: Objects = services) =>
  serviceTarget(requestInfo("GET", `${NAMESPACE}/services/${name}/proxy/`), readerOf(objects), seededRandom(1))
const podOf = (name: string, objects: Objects) =>
  podTarget(requestInfo("GET", `${NAMESPACE}/pods/${name}/proxy/`), readerOf(objects))
const nodeOf = async (name: string, objects: Objects) => {
  const target = await nodeTarget(requestInfo("GET", `/api/v1/nodes/${name}/proxy/`), readerOf(objects))
  return target.kubelet === undefined ? target.address : `kubelet of ${target.kubelet}`
}
const nodeWith = (...addresses: readonly (readonly [string, string])[]) => ({
  "nodes/n1": {
    metadata: { name: "n1" },
    status: { addresses: addresses.map(([type, address]) => ({ type, address })) },
  },
})

/** Returns the target as `<host> <port>`, or the message of the refusal. */
const outcome = async (find: () => ProxyTarget | string | Promise<ProxyTarget | string>): Promise<string> => {
  try {
    const target = await find()
    return typeof target === "string" ? target : `${target.host} ${target.port}`
  } catch (err) {
    return (err as Error).message
  }
}

describe("a request through a service's proxy", () => {
  test.each([
    { name: "web:main", to: { scheme: "http", host: "10.42.0.5", port: 8080 } as const },
    { name: "web:80", to: { scheme: "http", host: "10.42.0.5", port: 8080 } as const },
    { name: "https:web:main", to: { scheme: "https", host: "10.42.0.5", port: 8080 } as const },
    { name: "plain", to: { scheme: "http", host: "10.42.0.7", port: 8080 } as const },
    { name: "plain:80", to: { scheme: "http", host: "10.42.0.7", port: 8080 } as const },
    { name: "http:plain:", to: { scheme: "http", host: "10.42.0.7", port: 8080 } as const },
  ])("to $name goes to a ready endpoint", ({ name, to }) => {
    expect(serviceOf(name)).toEqual(to)
  })

  test.each([
    { name: "web:admin", why: 'no endpoints available for service "web:admin"' },
    { name: "web", why: 'no endpoints available for service "web"' },
    { name: "web:99", why: 'no service port 99 found for service "web"' },
    { name: "none", why: 'services "none" not found' },
  ])("to $name is refused, since it has no ready endpoint", async ({ name, why }) => {
    expect(await outcome(() => serviceOf(name))).toBe(why)
  })

  test.each([
    { what: "no pod", address: { ip: "10.42.0.5" } },
    { what: "a pod that does not exist", address: ofPod("gone", "10.42.0.5") },
    { what: "a pod with another address", address: ofPod("seven", "10.42.0.5") },
    { what: "a pod of another namespace", address: ofPod("five", "10.42.0.5", "other") },
  ])("never goes to an address that belongs to $what", async ({ address }) => {
    const objects = {
      ...services,
      "endpoints/plain": { subsets: [{ addresses: [address], ports: [{ port: 8080 }] }] },
    }
    expect(await outcome(() => serviceOf("plain", objects))).toBe('no endpoints available for service "plain"')
  })
})

const ADDRESSES = [
  { address: "10.42.0.5", allowed: true },
  { address: "fd00:42::5", allowed: true },
  ...[
    ...["127.0.0.1", "127.8.8.8", "0.0.0.0", "169.254.169.254", "169.254.0.1", "224.0.0.1", "239.1.1.1"],
    ...["255.255.255.255", "::1", "::", "fe80::1", "fe80::1%eth0", "ff02::1", "::ffff:127.0.0.1", "::ffff:0.0.0.0"],
    ...["0:0:0:0:0:ffff:7f00:1", "127.1", "0177.0.0.1", "0x7f.0.0.1", "2130706433", ""],
  ].map((address) => ({ address, allowed: false })),
]

describe.each(ADDRESSES)("the address $address", ({ address, allowed }) => {
  const verdict = allowed ? `${address} 8080` : "address not allowed"

  test("as a pod's", async () => {
    expect(await outcome(() => podOf("p", { "pods/p": pod(address) }))).toBe(verdict)
  })

  test("as an endpoint's", async () => {
    const objects = {
      "services/s": { metadata: { name: "s" }, spec: { ports: [{ port: 80 }] } },
      "endpoints/s": { subsets: [{ addresses: [ofPod("p", address)], ports: [{ port: 8080 }] }] },
      "pods/p": pod(address),
    }
    expect(await outcome(() => serviceOf("s", objects))).toBe(
      allowed ? verdict : 'no endpoints available for service "s"',
    )
  })

  test("as a node's", async () => {
    const said = await outcome(() => nodeOf("n1:8080", nodeWith(["InternalIP", address])))
    if (allowed) expect(said).toBe(verdict)
    else expect(["address not allowed", `lookup ${address}: no such host`, 'node "n1" has no address']).toContain(said)
  })
})

test("a node name that resolves to loopback is refused", async () => {
  expect(await outcome(() => nodeOf("n1:8080", nodeWith(["Hostname", "localhost"])))).toBe("address not allowed")
})

test("a node is reached by its address rather than its name", async () => {
  const node = nodeWith(["Hostname", "localhost"], ["InternalIP", "10.0.0.9"])
  expect(await outcome(() => nodeOf("https:n1:9100", node))).toBe("10.0.0.9 9100")
})

test.each(["n1", "n1:10250", "https:n1:10250", "https:n1:"])("%s is proxied to the kubelet of n1", async (name) => {
  expect(await outcome(() => nodeOf(name, nodeWith(["InternalIP", "127.0.0.1"])))).toBe("kubelet of n1")
})

test.each([
  { port: "99999", why: "error trying to reach service: dial tcp: address 99999: invalid port" },
  { port: "65536", why: "error trying to reach service: dial tcp: address 65536: invalid port" },
  { port: "0", why: "error trying to reach service: dial tcp 10.42.0.5:0: connect: connection refused" },
  { port: "-1", why: 'pod "p" has no port "-1"' },
  { port: "80x", why: 'pod "p" has no port "80x"' },
  { port: "65535", why: "10.42.0.5 65535" },
  { port: "http", why: "10.42.0.5 8080" },
  { port: "", why: "10.42.0.5 8080" },
])("the port $port of a pod is found or refused as upstream does", async ({ port, why }) => {
  expect(await outcome(() => podOf(`p:${port}`, { "pods/p": pod("10.42.0.5") }))).toBe(why)
})

test.each(["ftp:web:80", "a:b:c:d", ":80", "::", ""])("%j is refused as the name of a proxy's target", (name) => {
  expect(() => splitProxyName(name, "pod")).toThrow(`invalid pod request ${JSON.stringify(name)}`)
})
