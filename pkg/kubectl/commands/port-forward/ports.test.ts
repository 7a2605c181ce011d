import { describe, expect, test } from "bun:test"
import type { Pod } from "../../polymorphic/pod.ts"
import { parseAddresses } from "./addresses.ts"
import { parsePorts, podPorts, servicePorts, type ForwardedService } from "./ports.ts"

const pod = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web" },
  spec: {
    containers: [
      {
        name: "main",
        ports: [
          { name: "http", containerPort: 8080, protocol: "TCP" },
          { name: "dns", containerPort: 53, protocol: "UDP" },
        ],
      },
    ],
  },
} as unknown as Pod
const service = (clusterIP: string): ForwardedService => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "web" },
  spec: {
    clusterIP,
    ports: [
      { name: "web", port: 80, protocol: "TCP", targetPort: "http" },
      { name: "plain", port: 81, protocol: "TCP", targetPort: 9000 },
      { name: "same", port: 82, protocol: "TCP" },
    ],
  },
})

describe("the ports of a pod", () => {
  test.each([
    ["8080", "8080"],
    ["http", "8080"],
    ["5000:http", "5000:8080"],
    [":8080", ":8080"],
  ])("given %s, then port-forward asks for %s", (text, expected) => {
    expect(podPorts([text], pod)).toEqual([expected])
  })
  test.each([
    ["none", "Pod 'web' does not have a named port 'none'"],
    ["dns", "UDP protocol is not supported for dns"],
    ["53", "UDP protocol is not supported for 53"],
    ["80:", "Pod 'web' does not have a named port ''"],
  ])("given %s, then it is refused: %s", (text, message) => {
    expect(() => podPorts([text], pod)).toThrow(message)
  })
})

describe("the ports of a Service", () => {
  test.each([
    ["80", "10.0.0.1", "80:8080"],
    ["web", "10.0.0.1", "80:8080"],
    ["5000:web", "10.0.0.1", "5000:8080"],
    ["81", "10.0.0.1", "81:9000"],
    ["82", "10.0.0.1", "82"],
    ["80", "None", "80"],
  ])("given %s of a Service with the address %s, then port-forward asks for %s", (text, clusterIP, expected) => {
    expect(servicePorts([text], service(clusterIP), pod)).toEqual([expected])
  })
  test.each([
    ["99", "Service web does not have a service port 99"],
    ["none", "Service 'web' does not have a named port 'none'"],
  ])("given %s, then it is refused: %s", (text, message) => {
    expect(() => servicePorts([text], service("10.0.0.1"), pod)).toThrow(message)
  })
})

describe("ports as numbers", () => {
  test.each([
    ["8080", { local: 8080, remote: 8080 }],
    ["5000:8080", { local: 5000, remote: 8080 }],
    [":8080", { local: 0, remote: 8080 }],
    ["0:8080", { local: 0, remote: 8080 }],
  ])("given %s, then both ends are read", (text, expected) => {
    expect(parsePorts([text])).toEqual([expected])
  })
  test.each([
    ["1:2:3", "invalid port format '1:2:3'"],
    ["a:80", `error parsing local port 'a': strconv.ParseUint: parsing "a": invalid syntax`],
    ["80:70000", `error parsing remote port '70000': strconv.ParseUint: parsing "70000": value out of range`],
    ["80:0", "remote port must be > 0"],
  ])("given %s, then it is refused: %s", (text, message) => {
    expect(() => parsePorts([text])).toThrow(message)
  })
})

describe("the addresses to listen on", () => {
  test("given localhost, then both of its addresses are tried, and one is enough", () => {
    expect(parseAddresses(["localhost"])).toEqual([
      { address: "127.0.0.1", isLocalhost: true },
      { address: "::1", isLocalhost: true },
    ])
  })
  test("given localhost and one of its addresses, then that one must work", () => {
    expect(parseAddresses(["localhost", "127.0.0.1"])[0]).toEqual({ address: "127.0.0.1", isLocalhost: false })
  })
  test.each([
    [[], "you must specify at least 1 address"],
    [["here"], "here is not a valid IP"],
  ])("given %j, then it is refused: %s", (texts, message) => {
    expect(() => parseAddresses(texts)).toThrow(message)
  })
})
