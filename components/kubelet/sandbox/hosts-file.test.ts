import { describe, expect, test } from "bun:test"
import { kernelHostname, podHostname } from "./hostname.ts"
import { hostNetworkHostsFile, hostsFile } from "./hosts-file.ts"
import { podOf } from "../testing/pod.ts"

describe("the names of a pod", () => {
  test.each([
    [{}, { hostname: "web", domain: "" }],
    [
      { hostname: "h", subdomain: "s" },
      { hostname: "h", domain: "s.default.svc.cluster.local" },
    ],
    [
      { hostname: "h", subdomain: "s", setHostnameAsFQDN: true },
      { hostname: "h", domain: "s.default.svc.cluster.local" },
    ],
    [
      { hostNetwork: true, hostname: "h" },
      { hostname: "node", domain: "" },
    ],
    [
      { hostnameOverride: "o", subdomain: "s" },
      { hostname: "o", domain: "" },
    ],
  ] as const)("with %j", (spec, expected) => {
    expect(podHostname(podOf(spec), "cluster.local", "node")).toEqual(expected)
  })

  test.each([
    [{}, "web"],
    [{ hostname: "h", subdomain: "s" }, "h"],
    [{ hostname: "h", subdomain: "s", setHostnameAsFQDN: true }, "h.s.default.svc.cluster.local"],
    [{ hostname: "h", setHostnameAsFQDN: true }, "h"],
    [{ hostnameOverride: `${"o".repeat(62)}.p` }, "o".repeat(62)],
  ] as const)("are for the kernel, with %j, %s", (spec, expected) => {
    expect(kernelHostname(podOf(spec), "cluster.local", "node")).toBe(expected)
  })

  test("are truncated to the kernel's limit, and refused when the full name was requested", () => {
    const long = podOf({}, { metadata: { name: `${"a".repeat(62)}-b` } })
    expect(podHostname(long, "cluster.local", "node").hostname).toBe("a".repeat(62))
    expect(() =>
      kernelHostname(
        podOf({ hostname: "h".repeat(60), subdomain: "s", setHostnameAsFQDN: true }),
        "cluster.local",
        "node",
      ),
    ).toThrow("is too long (64 characters is the max, 88 characters requested)")
  })

  test("are in its hosts file, with its aliases", () => {
    const text = hostsFile({
      ips: ["10.42.0.2", "fd00::2"],
      ...podHostname(podOf({ hostname: "h", subdomain: "s", setHostnameAsFQDN: true }), "cluster.local", "node"),
      aliases: [{ ip: "1.2.3.4", hostnames: ["a", "b"] }],
    })
    expect(text).toStartWith("# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n")
    expect(text).toContain("10.42.0.2\th.s.default.svc.cluster.local\th\nfd00::2\th.s.default.svc.cluster.local\th\n")
    expect(text).toEndWith("\n# Entries added by HostAliases.\n1.2.3.4\ta\tb\n")
    expect(hostNetworkHostsFile("127.0.0.1 me\n", [])).toBe(
      "# Kubernetes-managed hosts file (host network).\n127.0.0.1 me\n",
    )
  })
})
