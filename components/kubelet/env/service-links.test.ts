import { describe, expect, test } from "bun:test"
import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import { decodeObject } from "../../../pkg/apimachinery/decoding/decode.ts"
import { serviceVariables } from "./service-links.ts"

const service = (namespace: string, name: string, spec: object): Service =>
  decodeObject(Service, { apiVersion: "v1", kind: "Service", metadata: { namespace, name }, spec }).object
const api = service("default", "kubernetes", { clusterIP: "10.43.0.1", ports: [{ name: "https", port: 443 }] })
const web = service("shop", "my-web", {
  clusterIP: "10.43.0.9",
  ports: [
    { name: "http", port: 80 },
    { name: "dns-udp", port: 53, protocol: "UDP" },
  ],
})

describe("service variables", () => {
  test("name each port in both forms", () => {
    // given a service with two ports, when
    const found = serviceVariables([web], "shop", true)
    // then
    expect(found.map(({ key, value }) => `${key}=${value}`)).toEqual([
      "MY_WEB_SERVICE_HOST=10.43.0.9",
      "MY_WEB_SERVICE_PORT=80",
      "MY_WEB_SERVICE_PORT_HTTP=80",
      "MY_WEB_SERVICE_PORT_DNS_UDP=53",
      "MY_WEB_PORT=tcp://10.43.0.9:80",
      "MY_WEB_PORT_80_TCP=tcp://10.43.0.9:80",
      "MY_WEB_PORT_80_TCP_PROTO=tcp",
      "MY_WEB_PORT_80_TCP_PORT=80",
      "MY_WEB_PORT_80_TCP_ADDR=10.43.0.9",
      "MY_WEB_PORT_53_UDP=udp://10.43.0.9:53",
      "MY_WEB_PORT_53_UDP_PROTO=udp",
      "MY_WEB_PORT_53_UDP_PORT=53",
      "MY_WEB_PORT_53_UDP_ADDR=10.43.0.9",
    ])
  })

  const hosts = (namespace: string, links: boolean, ...services: Service[]) =>
    serviceVariables(services, namespace, links)
      .filter(({ key }) => key.endsWith("_SERVICE_HOST"))
      .map(({ key }) => key)

  test("name the API server everywhere, and other Services in their own namespace if links are enabled", () => {
    expect(hosts("shop", true, api, web)).toEqual(["KUBERNETES_SERVICE_HOST", "MY_WEB_SERVICE_HOST"])
    expect(hosts("shop", false, api, web)).toEqual(["KUBERNETES_SERVICE_HOST"])
    expect(hosts("other", true, api, web)).toEqual(["KUBERNETES_SERVICE_HOST"])
  })

  test("leave out services without an address", () => {
    expect(
      hosts(
        "shop",
        true,
        service("shop", "headless", { clusterIP: "None", ports: [{ port: 1 }] }),
        service("shop", "outside", { type: "ExternalName", externalName: "x.example" }),
      ),
    ).toEqual([])
  })

  test("put an IPv6 address into brackets in URLs only", () => {
    const found = new Map(
      serviceVariables([service("shop", "six", { clusterIP: "fd00::1", ports: [{ port: 80 }] })], "shop", true).map(
        ({ key, value }) => [key, value],
      ),
    )
    expect([found.get("SIX_SERVICE_HOST"), found.get("SIX_PORT")]).toEqual(["fd00::1", "tcp://[fd00::1]:80"])
  })
})
