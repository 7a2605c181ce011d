import { expect, test } from "bun:test"
import { OWN_PORTS, ownPortAmong, OwnPorts } from "./own-ports.ts"

const tcp = (port: number, holder: string) => ({ port, protocol: "TCP", holder }) as const

test("ports are listed once, with the part that listens there from the start, and changes of them are told", () => {
  // given
  const ports = new OwnPorts([tcp(6443, "the API server")])
  const told: string[] = []
  const off = ports.onChange(() => told.push(ports.text))
  // when
  ports.set("ingress", [tcp(6443, "another part"), tcp(80, "the proxy")])
  ports.set("ingress", [tcp(80, "the proxy")])
  ports.set("ingress", [])
  off()
  ports.set("ingress", [tcp(80, "the proxy")])
  // then
  expect(told).toEqual(["80/TCP,6443/TCP", "6443/TCP"])
  ports.set("ingress", [tcp(6443, "another part")])
  expect(ports.problemOf([{ port: 6443, protocol: "TCP" }])).toBe("6443/TCP belongs to the API server")
  expect(ports.problemOf([{ port: 6443, protocol: "UDP" }])).toBeUndefined()
})

test.each([
  { wanted: 6443, wants: "6443/TCP" },
  { wanted: 80, wants: "80/TCP" },
  { wanted: 443, wants: undefined },
  { wanted: 644, wants: undefined },
])("whether a Node that reserves the ports 80 and 6443 reserves $wanted", ({ wanted, wants }) => {
  const annotations = { [OWN_PORTS]: "80/TCP,6443/TCP" }
  expect(ownPortAmong(annotations, [{ port: wanted, protocol: "TCP" }])).toBe(wants!)
})
