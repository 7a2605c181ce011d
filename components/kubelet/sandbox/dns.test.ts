import { describe, expect, test } from "bun:test"
import { parseResolvConf, podDns } from "./dns.ts"
import { podOf } from "../testing/pod.ts"

const host = parseResolvConf(
  "# of the node\nnameserver 192.0.2.1\nnameserver 192.0.2.2 ; second\nsearch old\nsearch example.com. corp\n" +
    "options timeout:1 rotate\n",
)
const config = { clusterDns: ["10.43.0.10"], clusterDomain: "cluster.local" }
const cluster = ["default.svc.cluster.local", "svc.cluster.local", "cluster.local", "example.com", "corp"]

describe("the resolver of a pod", () => {
  test("has the node's servers, search domains and options", () => {
    expect(host).toEqual({
      servers: ["192.0.2.1", "192.0.2.2"],
      searches: ["example.com", "corp"],
      options: ["timeout:1", "rotate"],
    })
  })

  test.each([
    ["ClusterFirst", {}, { servers: ["10.43.0.10"], searches: cluster, options: ["ndots:5"] }],
    ["ClusterFirst", { hostNetwork: true }, host],
    [
      "ClusterFirstWithHostNet",
      { hostNetwork: true },
      { servers: ["10.43.0.10"], searches: cluster, options: ["ndots:5"] },
    ],
    ["Default", {}, host],
    [
      "None",
      { dnsConfig: { nameservers: ["1.1.1.1"], searches: ["x"], options: [{ name: "edns0" }] } },
      { servers: ["1.1.1.1"], searches: ["x"], options: ["edns0"] },
    ],
    [
      "ClusterFirst",
      {
        dnsConfig: {
          nameservers: ["1.1.1.1", "10.43.0.10"],
          searches: ["x", "corp"],
          options: [{ name: "ndots", value: "2" }],
        },
      },
      { servers: ["10.43.0.10", "1.1.1.1"], searches: [...cluster, "x"], options: ["ndots:2"] },
    ],
  ] as const)("of policy %s with %j", (dnsPolicy, spec, expected) => {
    const made = podDns(podOf({ dnsPolicy, ...spec } as Parameters<typeof podOf>[0]), config, host)
    expect(made).toEqual({
      servers: [...expected.servers],
      searches: [...expected.searches],
      options: [...expected.options],
    })
  })

  test("has the limits of the C library", () => {
    const searches = Array.from({ length: 40 }, (_, i) => `d${i}.example`)
    const made = podDns(
      podOf({ dnsPolicy: "None", dnsConfig: { nameservers: ["1.0.0.1", "1.0.0.2", "1.0.0.3", "1.0.0.4"], searches } }),
      config,
      host,
    )
    expect([made.servers!.length, made.searches!.length]).toEqual([3, 32])
  })
})
