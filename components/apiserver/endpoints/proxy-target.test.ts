import { describe, expect, test } from "bun:test"
import { seededRandom } from "../../../pkg/clock/random.ts"
import { requestInfo } from "../http/request-info.ts"
import type { Live } from "./connect.ts"
import { serviceTarget, splitProxyName } from "./proxy-target.ts"

const objects: Readonly<Record<string, object>> = {
  "services/web": {
    spec: {
      ports: [
        { name: "main", port: 80 },
        { name: "admin", port: 81 },
      ],
    },
  },
  "endpoints/web": {
    subsets: [
      { addresses: [{ ip: "10.42.0.5" }], ports: [{ name: "main", port: 8080 }] },
      { notReadyAddresses: [{ ip: "10.42.0.6" }], ports: [{ name: "admin", port: 8081 }] },
    ],
  },
  "services/plain": { spec: { ports: [{ port: 80 }] } },
  "endpoints/plain": { subsets: [{ addresses: [{ ip: "10.42.0.7" }], ports: [{ port: 8080 }] }] },
}
const live = ((plural: string, { name }: { name: string }) => objects[`${plural}/${name}`]) as unknown as Live
const target = (name: string) =>
  serviceTarget(requestInfo("GET", `/api/v1/namespaces/default/services/${name}/proxy/`), live, seededRandom(1))
const failure = (name: string): string => {
  try {
    target(name)
    return ""
  } catch (err) {
    return (err as Error).message
  }
}

describe("a service's proxy goes to a ready endpoint", () => {
  test.each([
    ["web:main", { scheme: "http", host: "10.42.0.5", port: 8080 }],
    ["web:80", { scheme: "http", host: "10.42.0.5", port: 8080 }],
    ["https:web:main", { scheme: "https", host: "10.42.0.5", port: 8080 }],
    ["plain", { scheme: "http", host: "10.42.0.7", port: 8080 }],
    ["plain:80", { scheme: "http", host: "10.42.0.7", port: 8080 }],
    ["http:plain:", { scheme: "http", host: "10.42.0.7", port: 8080 }],
  ])("%s", (name, expected) => {
    expect(target(name)).toEqual(expected as ReturnType<typeof target>)
  })

  test.each([
    ["web:admin", 'no endpoints available for service "web:admin"'],
    ["web:99", 'no service port 99 found for service "web"'],
    ["none", 'services "none" not found'],
  ])("%s has none", (name, message) => {
    expect(failure(name)).toBe(message)
  })
})

test.each([["ftp:web:80"], ["a:b:c:d"], [":80"]])("%s names no target", (name) => {
  expect(() => splitProxyName(name)).toThrow("invalid proxy target")
})
